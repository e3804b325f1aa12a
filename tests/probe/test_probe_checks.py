"""The rules on an answer's text, the questions whose answer is known, and what a probe makes of them."""

from decimal import Decimal
from typing import get_args

import pytest
from hostile import HostileServer
from hypothesis import given
from hypothesis import strategies as st
from language_samples import SAMPLES
from probe_helpers import scenario, target
from pydantic import ValidationError

from exporters.probe.asking.prompts import case_of
from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.checks import failed_check, last_number
from exporters.probe.checks.language import language_of, stop_words
from exporters.probe.checks.repetition import most_repeats
from exporters.probe.checks.tool_call import failed_call
from exporters.probe.protocols.calls import Call
from inferwatch.config.built_in import BUILT_IN_SCENARIOS, CANARY, CANARY_LONG
from inferwatch.config.checks import TOLD_BY_SCRIPT, Checks, Language, Script
from inferwatch.config.scenario import Scenario

LONG = ", ".join(map(str, range(1, 121)))


@pytest.mark.parametrize(
    ("checks", "good", "bad"),
    [
        ({"text": "Lima"}, "The capital is LIMA.", "Quito"),
        ({"text": "straße"}, "STRASSE", "weg"),
        ({"regex": r"(?i)\bparis\b"}, "It is Paris.", "comparison"),
        ({"number": 42}, "17 + 25 = 42", "42 is more than 41"),
        ({"number": -1234.5}, "So it is -1,234.5.", "1,234.5"),
        ({"number": 1}, "1", "one"),
        ({"json_value": True}, '{"ok": true}', '```json\n{"ok": true}\n```'),
        ({"json_schema": {"type": "object", "required": ["ok"]}}, '{"ok": 1}', '{"no": 1}'),
        ({"json_schema": {"type": "array"}}, " [] ", "some words"),
        ({"language": "de"}, SAMPLES["de"], SAMPLES["en"]),
        ({"language": "de"}, SAMPLES["de"], "Berlin ist die Hauptstadt."),
        ({"min_characters": 3}, "abc", "ab"),
        ({"max_characters": 3}, "abc", "abcd"),
        ({"script": "latin"}, "Où est l'été? 123", "Где лето"),
        ({"script": "cyrillic"}, "Сервер X отвечает медленно и долго думает", "This is it"),
        ({"script": "han"}, "今天天气很好。", "今日はいい天気ですね"),
        ({"script": "japanese"}, "今日はいい天気ですね", "오늘 날씨가 좋네요"),
        ({"script": "arabic"}, "123 !", "hello"),
        ({"max_repeats": 3}, "ha ha ha", "ha ha ha ha"),
        ({}, "if a < b and c > d: x = [1]", "Sure!<|im_end|>"),
        ({}, "the < sign", "answer</s>"),
        ({}, "INST", "[INST] hi"),
        ({}, "caf\u00e9", "caf\ufffd"),
        ({"special_tokens": False, "text": "a"}, "a</s>", "b"),
    ],
)
def test_a_check(checks: dict[str, object], good: str, bad: str) -> None:
    rules = Checks.model_validate(checks)
    assert failed_check(good, rules) is None
    wrong = failed_check(bad, rules)
    assert wrong
    assert len(bad) < 5 or bad not in wrong


def test_every_language_is_told_by_its_script_or_by_its_words() -> None:
    assert {*TOLD_BY_SCRIPT, *stop_words()} == set(get_args(Language))
    assert not set(TOLD_BY_SCRIPT) & set(stop_words())


@pytest.mark.parametrize("language", get_args(Language))
def test_a_language_is_told_from_every_other(language: str) -> None:
    assert language_of(SAMPLES[language]) == language
    assert failed_check(SAMPLES[language], Checks.model_validate({"language": language})) is None


@pytest.mark.parametrize("text", ["", "42", "OK.", "Paris", "lorem ipsum dolor sit amet " * 5, "zq xv wk jh pf " * 8])
def test_a_language_that_cannot_be_told_is_not_guessed(text: str) -> None:
    assert language_of(text) is None


def test_what_is_said_of_a_wrong_language_quotes_nothing() -> None:
    wrong = failed_check(SAMPLES["fr"], Checks(language="en"))
    assert wrong == "language: the answer is in fr, not in en"


def test_a_pattern_that_would_run_for_years_elsewhere() -> None:
    """Python's own engine takes twice the time for each further letter: 60 are a thousand years."""
    answer = "a" * 200_000 + "!"
    assert failed_check(answer, Checks(regex="^(a+)+$", max_repeats=None)) == "regex: the answer does not match"
    schema = {"type": "string", "pattern": "^(a|a)*$"}
    checks = Checks.model_validate({"json_schema": schema})
    assert failed_check(f'"{answer}"', checks) == "json_schema: the answer breaks pattern"


def test_a_broken_schema_is_named_by_the_schema_alone() -> None:
    checks = Checks.model_validate({"json_schema": {"additionalProperties": {"type": "integer"}}})
    wrong = failed_check('{"the secret": "value"}', checks)
    assert wrong == "json_schema: the answer breaks additionalProperties/type"


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_only_python_takes_for_json_is_none(constant: str) -> None:
    text = f'{{"price": {constant}}}'
    for checks in ({"json_value": True}, {"json_schema": {"type": "object"}}):
        assert failed_check(text, Checks.model_validate(checks)) == "json: the answer is not JSON"
    checks = Checks.model_validate({"tool_call": {"name": "pay"}})
    assert failed_check("", checks, [Call("pay", text)]) == "tool_call: the arguments of pay are not JSON"
    # As a text it is one like any other.
    assert failed_check(f'"{constant}"', Checks(json_value=True)) is None


def test_json_that_is_nested_too_deep_is_not_read() -> None:
    deep = "[" * 100_000
    assert failed_check(deep, Checks(json_value=True, max_repeats=None)) == "json: the answer is not JSON"
    assert failed_call([Call("pay", deep)], "pay", None) == "the arguments of pay are not JSON"


def test_an_answer_without_text_passes_no_check() -> None:
    assert failed_check("", Checks()) == "the answer holds no text"


@pytest.mark.parametrize(
    ("text", "number"),
    [("", None), ("none", None), ("a1b22", 22), ("1,000,000.", 1e6), ("3.14", 3.14), ("\u22125", -5)],
)
def test_last_number(text: str, number: float | None) -> None:
    assert last_number(text) == number


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("", 1),
        ("one two three", 1),
        ("no no", 2),
        ("the end. the end. the end.", 3),
        ("a b c a b c a b c a b c", 4),
        ("好的好的好的好的好的" * 3, 15),
        ("- - - - - - - -", 1),
        ("| --- | --- | --- |", 1),
        ("x " * 50, 50),
    ],
)
def test_most_repeats(text: str, repeats: int) -> None:
    assert most_repeats(text) == repeats


@given(piece=st.lists(st.sampled_from(["ab", "cd", "ef", "gh"]), min_size=1, max_size=5), times=st.integers(2, 9))
def test_a_repeated_piece_is_found(piece: list[str], times: int) -> None:
    assert most_repeats(" ".join(["start", *piece * times, "end"])) >= times


@given(st.text(max_size=200), st.sampled_from(["latin", "han", "japanese"]))
def test_any_text_is_judged(text: str, script: str) -> None:
    rules = Checks.model_validate({"number": 1, "script": script, "max_repeats": 3, "json_value": True, "text": "x"})
    assert failed_check(text, rules) is None or failed_check(text, rules)


RIGHT = ["42", "72", "7", "60", "99", "Paris", "Tokyo", "Cold.", "Earth", "Tuesday", '{"ok": true}']
RIGHT += ["The quick brown fox jumps over the lazy dog."]


def test_the_canary_questions_know_their_answers() -> None:
    assert len(CANARY) == len(RIGHT) == 12
    for place, case in enumerate(CANARY):
        assert case.checks is not None
        assert failed_check(RIGHT[place], case.checks) is None, case.prompt
        # The answer to another question is wrong.
        assert failed_check(RIGHT[place - 1], case.checks), case.prompt


def test_the_long_canary_needs_at_least_300_tokens() -> None:
    checks = CANARY_LONG.checks
    assert checks is not None
    assert failed_check(LONG, checks) is None
    assert failed_check(LONG.replace("87, 88", "87, 87"), checks)
    assert failed_check(LONG[: LONG.index("119")] + "119, 119, 119, " * 9, checks)
    # A tokenizer of whole numbers needs one token for each number, its comma and its blank or both in one: 240 to 360.
    assert len(LONG) > 450 and CANARY_LONG.max_tokens > 2 * len(LONG.split())


def test_cases_take_turns_by_the_clock() -> None:
    canary = BUILT_IN_SCENARIOS["canary"]
    assert canary.interval == 300.0
    asked = [case_of(canary, 300.0 * turn + 10).prompt for turn in range(24)]
    assert len({*asked[:12]}) == 12 and asked[:12] == asked[12:]


def probe(hostile: HostileServer, name: str, **checks: object) -> ProbeResult:
    api = "openai-completions" if name == "legacy" else "openai-chat"
    return run_probe(target(hostile.url(name), api=api), "short", scenario("60s", checks=checks), "m")


def test_a_probe_whose_answer_is_wrong(hostile: HostileServer) -> None:
    """The server answers `one two three four five`."""
    result = probe(hostile, "good", text="six")
    assert (result.outcome, result.output_tokens) == ("check_failed", 5)
    assert "text" in result.detail and "one two" not in result.detail
    assert probe(hostile, "good", text="three four").outcome == "success"
    assert probe(hostile, "legacy", regex="^one two .* five$").outcome == "success"


def test_checks_look_at_what_the_user_sees(hostile: HostileServer) -> None:
    assert probe(hostile, "reasoning_then_content", regex="^cde$").outcome == "success"
    assert probe(hostile, "reasoning_only", text="one").outcome == "check_failed"


def test_a_broken_answer_is_not_checked(hostile: HostileServer) -> None:
    assert probe(hostile, "truncated", text="six").outcome == "truncated"


def test_a_scenario_without_checks_takes_any_text() -> None:
    (case,) = Scenario(prompt="Why", max_tokens=8).all_cases
    assert case.checks is None


@pytest.mark.parametrize("language", get_args(Language))
def test_only_a_script_in_which_the_language_is_not_written_is_refused_beside_it(language: Language) -> None:
    accepted, passed = set(), set()
    for script in get_args(Script):
        if failed_check(SAMPLES[language], Checks(script=script)) is None:
            passed.add(script)
        try:
            Checks(language=language, script=script)
        except ValidationError:
            continue
        accepted.add(script)
    assert passed and passed <= accepted and len(accepted) <= 2


# The longest text that is refused: nothing shorter than 15 words of a letter each is told.
@given(st.text(st.sampled_from("aeiouydn éà"), max_size=28))
def test_a_text_that_is_refused_as_too_short_for_its_language_is_never_told(text: str) -> None:
    assert language_of(text) is None
    for checks in ({"language": "fr", "max_characters": 28}, {"text": "abc", "max_characters": 2}):
        with pytest.raises(ValidationError):
            Checks.model_validate(checks)
    assert Checks(language="fr", max_characters=29) and Checks(text="abc", max_characters=3, min_characters=3)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6).map(float))
def test_a_number_is_refused_only_where_no_answer_has_room_for_it(number: float) -> None:
    """The shortest answer that passes is accepted; one character less is not."""
    shortest = f"{Decimal(repr(number + 0.0)).normalize():f}"
    assert failed_check(shortest, Checks(number=number, max_characters=len(shortest))) is None
    if len(shortest) > 1:
        with pytest.raises(ValidationError):
            Checks(number=number, max_characters=len(shortest) - 1)

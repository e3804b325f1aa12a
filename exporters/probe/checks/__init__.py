"""Whether an answer is what the scenario expects: rules only, no model judges another, and nothing is quoted."""

import re
from collections.abc import Sequence

from exporters.probe.checks.json_value import json_value
from exporters.probe.checks.language import language_of
from exporters.probe.checks.repetition import most_repeats
from exporters.probe.checks.script import share_of_script
from exporters.probe.checks.special_tokens import holds_special_token
from exporters.probe.checks.tool_call import failed_call
from exporters.probe.protocols.calls import Call
from inferwatch.config.checks import LEAST_WORDS, Checks, Language
from inferwatch.config.pattern import pattern
from inferwatch.config.schema import Schema

# Names and loan words of other scripts are common in a right answer.
SCRIPT_SHARE = 0.9
_NUMBER = re.compile(r"[-\u2212]?\d+(?:,\d{3})*(?:\.\d+)?")


def failed_check(text: str, checks: Checks, calls: Sequence[Call] = (), wanted: Schema | None = None) -> str | None:
    """Return what is wrong with an answer in a few words, without any of it; None if it passes every check.

    Args:
        text: What the user sees.
        checks: The rules.
        calls: The calls of tools in it.
        wanted: What the arguments of the call must be that `checks` ask for.
    """
    if checks.tool_call is not None:
        if wrong := failed_call(calls, checks.tool_call.name, wanted):
            return f"tool_call: {wrong}"
        if not checks.wants_text and not text:
            return None
    if not text:
        return "the answer holds no text"
    if checks.text is not None and checks.text.casefold() not in text.casefold():
        return "text: the answer does not hold the text that it should"
    if checks.regex is not None and pattern(checks.regex).search(text) is None:
        return "regex: the answer does not match"
    if checks.number is not None and last_number(text) != checks.number:
        return f"number: the last number in the answer is not {checks.number:g}"
    return _wrong_json(text, checks) or _wrong_shape(text, checks)


def _wrong_json(text: str, checks: Checks) -> str | None:
    schema = checks.schema_of_answer
    if schema is None and not checks.json_value:
        return None
    try:
        value = json_value(text)
    except ValueError:
        return "json: the answer is not JSON"
    if schema is not None and (rule := schema.broken_by(value)) is not None:
        return f"json_schema: the answer breaks {rule}"
    return None


def _wrong_shape(text: str, checks: Checks) -> str | None:
    if checks.min_characters is not None and len(text) < checks.min_characters:
        return f"min_characters: the answer has only {len(text)} characters"
    if checks.max_characters is not None and len(text) > checks.max_characters:
        return f"max_characters: the answer has {len(text)} characters"
    if checks.language is not None and (wrong := _wrong_language(text, checks.language)):
        return f"language: {wrong}"
    if checks.script is not None and share_of_script(text, checks.script) < SCRIPT_SHARE:
        return f"script: fewer than 90 % of the answer's letters are {checks.script}"
    if checks.max_repeats is not None and (repeats := most_repeats(text)) > checks.max_repeats:
        return f"max_repeats: the answer repeats itself {repeats} times in a row"
    if checks.special_tokens and holds_special_token(text):
        return "special_tokens: the answer holds a special token, as with a wrong chat template or tokenizer"
    return None


def _wrong_language(text: str, wanted: Language) -> str | None:
    found = language_of(text)
    if found is None:
        return f"the answer is not known as {wanted} or any other language; one of {LEAST_WORDS} words or more can be"
    return None if found == wanted else f"the answer is in {found}, not in {wanted}"


def last_number(text: str) -> float | None:
    """Return the last number in a text, `1,234.5` and `-7` included; None without one."""
    found = _NUMBER.findall(text)
    return float(found[-1].replace(",", "").replace("\u2212", "-")) if found else None

"""Each engine file against what the engine exposed: its captures, replayed into the rules."""

import re
from pathlib import Path

import pytest
from engine_case import Case
from engine_cases import CASES, NOT_CAPTURED
from engine_expectations import expectations
from rules_replay import FIXTURES, about, capture, header

from inferwatch.engines import Engine, load_engines, recognise
from prometheus import vocabulary as names
from prometheus.concepts import CONCEPTS, provided
from prometheus.engine_rules import by_file

ENGINES = load_engines()
MEASURED = [engine for engine in ENGINES.values() if provided(engine)]
# gpu:* has fixtures of its own beside these.
CAPTURES = sorted(file for file in FIXTURES.glob("*.prom") if "level" in header(file))
by_engine = pytest.mark.parametrize("engine", MEASURED, ids=lambda engine: engine.name)
by_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def engine_of(file: Path) -> Engine:
    """Return the engine that a capture is called after; the longest name that fits."""
    return ENGINES[max((name for name in ENGINES if file.name.startswith(name)), key=len)]


def recorded(engine: Engine) -> set[str]:
    """Return the names that an engine's groups record, without prefix."""
    groups = by_file().get(f"{engine.kind}-{engine.name}", [])
    return {rule["record"].split(":", 1)[1] for group in groups for rule in group["rules"]}


@pytest.mark.tool("promtool")
@by_case
def test_concepts_have_the_captured_values_and_exactly_the_promised_labels(case: Case, promtool_test):
    expected = [about(*one) for one in expectations(case)]
    rules = f"{ENGINES[case.engine].kind}-{case.engine}.yml"
    promtool_test(
        rules, {"interval": "15s", "input_series": case.replay().input_series(), "promql_expr_test": expected}
    )


@pytest.mark.parametrize("file", sorted(FIXTURES.glob("vllm-*-after.prom")), ids=lambda file: file.stem)
def test_the_engine_counted_what_its_client_was_told(file: Path):
    told = re.search(r"(?m)^# client: (\d+) answers, (\d+) prompt tokens, (\d+) output tokens$", file.read_text())
    if told is None:
        assert file.name == "vllm-0.32.0-after.prom", "only the first capture was made without it"
        return
    counters = ("vllm:request_success_total", "vllm:prompt_tokens_total", "vllm:generation_tokens_total")
    samples = capture(file.name)
    assert [sum(one.value for one in samples if one.name == name) for name in counters] == [*map(float, told.groups())]


@by_engine
def test_each_concept_is_given_or_listed_as_absent(engine: Engine):
    if engine.kind == "engine":
        everything = {*CONCEPTS, *names.LATENCIES}
    else:
        gateways = (one for one in MEASURED if one.kind == "gateway")
        everything = {*names.GATEWAY_LATENCIES}.union(*(provided(one) for one in gateways))
    assert provided(engine) | set(engine.absent) == everything
    assert not provided(engine) & set(engine.absent)
    assert set(engine.at_end) <= provided(engine)


@by_engine
def test_whatever_was_verified_is_replayed_and_has_its_value_checked(engine: Engine):
    cases = [case for case in CASES if case.engine == engine.name]
    if engine.verified == "docs":
        assert not cases
        return
    checked = {name.split("{")[0].split(":", 1)[1] for case in cases for name, _, _ in expectations(case)}
    not_captured = set(NOT_CAPTURED.get(engine.name, ()))
    assert recorded(engine) <= checked | not_captured
    assert not checked & not_captured
    captures = [FIXTURES / file for case in cases for file in case.captures]
    assert engine.verified in {header(file)["level"] for file in captures}
    assert {header(file)["level"] for file in captures} <= {"live", "source"}


@by_engine
def test_every_engine_has_a_capture_that_says_where_it_comes_from(engine: Engine):
    own = [file for file in CAPTURES if engine_of(file) == engine]
    assert own
    for file in own:
        assert header(file)["level"] in ("live", "source", "docs")
        assert len(header(file)["from"]) > 20


@pytest.mark.parametrize("file", CAPTURES, ids=lambda file: file.stem)
def test_a_capture_is_recognised_as_that_engine(file: Path):
    engine = recognise(file.read_text())
    assert engine is not None
    assert engine.name == engine_of(file).name


def test_every_latency_of_the_vocabulary_is_one_that_some_engine_has():
    for kind, latencies in (("engine", names.LATENCIES), ("gateway", names.GATEWAY_LATENCIES)):
        assert {name for one in MEASURED if one.kind == kind for name in one.histograms} == set(latencies)


def test_time_per_token_with_prefill_is_in_neither_tpot_nor_itl():
    for engine in MEASURED:
        for latency in ("tpot", "itl"):
            assert not [one for one in engine.histograms.get(latency, ()) if "mean_time_per_token" in one]
    assert {"tpot", "itl"} <= set(ENGINES["tgi"].absent)

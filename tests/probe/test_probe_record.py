"""What is counted, what is shown on /metrics, and how many series that is."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from exporters.probe import metrics
from exporters.probe.asking.prime import Primed
from exporters.probe.asking.run import ProbeResult
from exporters.probe.metrics.ladders import COARSE, FINE, LADDERS
from exporters.probe.series.measured import MeasuredCollector
from exporters.probe.series.record import Record, meets
from inferwatch.config import Slo
from inferwatch.config.model import Buckets

GOOD = ProbeResult(
    "chat", "short", "m", "success", "", 200, 0.3, 0.05, 1.0, 0.1, 20, 11, "usage", "stop", False,
    dict.fromkeys(metrics.PHASES, 0.25), server_seconds=dict.fromkeys(metrics.SERVER_PHASES, 0.125),
    ttfo_seconds=0.4,
)  # fmt: skip
FAILED = ProbeResult("chat", "short", "m", "truncated", "why", 200, 0.3, 0.05, 1.0, 0.1, 3, None, "chunks")
SLO = Slo.model_validate({"ttft": {"threshold": "500ms"}, "tpot": {"threshold": "60ms"}, "e2e": {"threshold": "2s"}})


def samples(record: Record) -> dict[str, dict[str, float]]:
    """Return what a scrape shows: values by series name and then by the label that is not the probe's."""
    registry = CollectorRegistry()
    key = ("chat", "short")
    registry.register(MeasuredCollector(lambda: {key: record}, lambda: {key: 60.0}, lambda: 0))
    shown: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            extra = ",".join(value for name, value in sample.labels.items() if name not in metrics.PROBE)
            shown.setdefault(sample.name, {})[extra] = sample.value
    return shown


def test_before_the_first_probe_every_counter_is_zero_and_no_gauge_is_there() -> None:
    shown = samples(Record("m"))
    assert shown["llm_probe_requests_total"] == dict.fromkeys(metrics.OUTCOMES, 0.0)
    assert shown["llm_probe_skipped_total"] == dict.fromkeys(metrics.SKIP_REASONS, 0.0)
    assert shown["llm_probe_started_total"] == {"": 0.0}
    assert shown["llm_probe_interval_seconds"] == {"": 60.0}
    assert not [name for name in shown if name.startswith("llm_probe_last_")]


def test_a_success_is_observed() -> None:
    record = Record("m")
    record.start()
    record.end(GOOD, SLO, 1_800_000_000.0)
    shown = samples(record)
    assert shown["llm_probe_finish_reasons_total"] == dict.fromkeys(metrics.FINISH_REASONS, 0.0) | {"stop": 1.0}
    # 0.3 s lies between the bounds 0.291 and 0.364.
    assert shown["llm_probe_ttft_seconds_bucket"]["0.291"] == 0
    assert shown["llm_probe_ttft_seconds_bucket"]["0.364"] == 1
    assert shown["llm_probe_ttft_seconds_bucket"]["+Inf"] == 1
    assert shown["llm_probe_ttft_seconds_sum"] == {"": 0.3}
    assert shown["llm_probe_tpot_seconds_count"] == {"": 1.0}
    assert shown["llm_probe_e2e_seconds_count"] == {"": 1.0}
    assert shown["llm_probe_requests_total"]["success"] == 1
    assert shown["llm_probe_slo_good_total"] == {"": 1.0}
    assert shown["llm_probe_output_tokens_total"] == {"": 20.0}
    assert shown["llm_probe_prompt_tokens_total"] == {"": 11.0}
    assert shown["llm_probe_phase_seconds_sum"] == dict.fromkeys(metrics.PHASES, 0.25)
    assert shown["llm_probe_phase_seconds_count"] == dict.fromkeys(metrics.PHASES, 1.0)
    assert shown["llm_probe_last_server_seconds"] == dict.fromkeys(metrics.SERVER_PHASES, 0.125)
    assert shown["llm_probe_last_success"] == {"": 1.0}
    assert shown["llm_probe_last_ttft_seconds"] == {"": 0.3}
    assert shown["llm_probe_last_ttfo_seconds"] == {"": 0.4}
    assert shown["llm_probe_last_run_timestamp_seconds"] == {"": 1_800_000_000.0}
    assert shown["llm_probe_token_source_info"] == {"usage": 1.0}
    assert shown["llm_probe_stream_buffered"] == {"": 0.0}


def test_a_failure_is_counted_not_observed_and_takes_the_last_figures_away() -> None:
    record = Record("m")
    for result in (GOOD, FAILED):
        record.start()
        record.end(result, SLO, 1_800_000_060.0)
    shown = samples(record)
    assert shown["llm_probe_requests_total"]["truncated"] == 1
    assert shown["llm_probe_ttft_seconds_count"] == {"": 1.0}
    assert shown["llm_probe_slo_good_total"] == {"": 1.0}
    # The tokens of the failed one were paid for.
    assert shown["llm_probe_output_tokens_total"] == {"": 23.0}
    assert shown["llm_probe_last_success"] == {"": 0.0}
    assert not {
        "llm_probe_last_ttft_seconds",
        "llm_probe_last_ttfo_seconds",
        "llm_probe_last_tpot_seconds",
        "llm_probe_last_e2e_seconds",
        "llm_probe_last_server_seconds",
    } & set(shown)


def test_a_tainted_probe_succeeded_and_is_not_observed() -> None:
    record = Record("m")
    record.start()
    record.end(replace(GOOD, outcome="tainted", detail="held up"), SLO, 0.0)
    shown = samples(record)
    assert shown["llm_probe_requests_total"]["tainted"] == 1
    assert shown["llm_probe_last_success"] == {"": 1.0}
    assert shown["llm_probe_ttft_seconds_count"] == shown["llm_probe_slo_good_total"] == {"": 0.0}
    assert "llm_probe_last_ttft_seconds" not in shown


def test_a_buffered_success_has_no_tpot() -> None:
    record = Record("m")
    record.start()
    record.end(replace(GOOD, tpot_seconds=None, buffered=True), SLO, 0.0)
    shown = samples(record)
    assert shown["llm_probe_tpot_seconds_count"] == {"": 0.0}
    assert shown["llm_probe_stream_buffered"] == {"": 1.0}
    assert "llm_probe_last_tpot_seconds" not in shown
    assert shown["llm_probe_slo_good_total"] == {"": 1.0}


@pytest.mark.parametrize(
    ("result", "good"),
    [
        (GOOD, True),
        (replace(GOOD, ttft_seconds=0.5, tpot_seconds=0.06, e2e_seconds=2.0), True),
        (replace(GOOD, ttft_seconds=0.501), False),
        (replace(GOOD, tpot_seconds=0.061), False),
        (replace(GOOD, e2e_seconds=2.001), False),
        (replace(GOOD, tpot_seconds=None), True),
        (replace(GOOD, tpot_seconds=None, ttft_seconds=9.0), False),
    ],
)
def test_slo(result: ProbeResult, good: bool) -> None:
    assert meets(SLO, result) is good
    assert meets(Slo(), result)


def test_the_first_name_of_the_model_takes_over_what_was_counted_without_one() -> None:
    record = Record("")
    record.start()
    record.end(FAILED, SLO, 0.0)
    record.name_model("found")
    name, series = record.snapshot()
    assert (name, series.started, series.outcomes["truncated"]) == ("found", 1, 1)


def test_another_model_is_counted_from_zero_beside_the_probe_that_runs() -> None:
    record = Record("old")
    record.start()
    record.end(GOOD, SLO, 0.0)
    record.start()
    record.name_model("new")
    record.end(GOOD, SLO, 0.0)
    name, series = record.snapshot()
    assert (name, series.started, sum(series.outcomes.values()), sum(series.ttft.counts)) == ("new", 1, 1, 1)


def test_a_snapshot_does_not_change_afterwards() -> None:
    record = Record("m")
    record.start()
    record.end(GOOD, SLO, 0.0)
    _, series = record.snapshot()
    record.start()
    record.end(GOOD, SLO, 0.0)
    assert (series.started, series.outcomes["success"], sum(series.ttft.counts)) == (1, 1, 1)
    assert series.phase_counts == dict.fromkeys(metrics.PHASES, 1)


@pytest.mark.parametrize(("buckets", "most"), [("fine", 150), ("coarse", 120)])
def test_the_series_budget_of_a_target_and_scenario(buckets: Buckets, most: int) -> None:
    """When every phase, gauge and reason is there."""
    record = Record("m", LADDERS[buckets])
    record.start()
    record.end(replace(GOOD, primed=Primed()), SLO, 0.0)
    shown = samples(record)
    of_the_process = {str(metrics.INFLIGHT)}
    counts = Counter({name: len(values) for name, values in shown.items() if name not in of_the_process})
    assert counts.total() <= most, counts.most_common()
    # Everything that can be there is there, or the sum would prove nothing.
    declared = {name for metric in metrics.ALL if metric.labels[:3] == metrics.PROBE for name in metric.series_names}
    assert set(counts) == declared


def test_finish_reasons_are_a_bounded_set() -> None:
    record = Record("m")
    for reason in ("length", "stop", "eos_token", "abort", None):
        record.end(replace(GOOD, outcome="finish_reason", finish_reason=reason), SLO, 0.0)
    reasons = samples(record)["llm_probe_finish_reasons_total"]
    assert reasons == {"stop": 1, "length": 1, "tool_calls": 0, "content_filter": 0, "other": 2}


def test_another_ladder_begins_its_histograms_anew_and_nothing_else() -> None:
    record = Record("m")
    record.start()
    record.end(GOOD, SLO, 0.0)
    before = record.version
    record.use(FINE)
    assert record.version == before
    record.use(COARSE)
    assert record.version != before
    shown = samples(record)
    assert shown["llm_probe_ttft_seconds_count"] == shown["llm_probe_e2e_seconds_count"] == {"": 0.0}
    assert len(shown["llm_probe_ttft_seconds_bucket"]) == len(COARSE.ttft) + 1
    assert shown["llm_probe_started_total"] == shown["llm_probe_slo_good_total"] == {"": 1.0}
    record.end(GOOD, SLO, 0.0)
    assert samples(record)["llm_probe_ttft_seconds_bucket"]["0.455"] == 1
    # Of another model's series too.
    record.name_model("n")
    assert len(samples(record)["llm_probe_ttft_seconds_bucket"]) == len(COARSE.ttft) + 1


NOTHING = replace(GOOD, output_tokens=None, prompt_tokens=None)
CHANGES: dict[str, Callable[[Record], None]] = {
    "start": Record.start,
    "skip": lambda record: record.skip("budget"),
    "success": lambda record: record.end(GOOD, SLO, 1.0),
    "another time": lambda record: record.end(GOOD, SLO, 2.0),
    "failure": lambda record: record.end(FAILED, SLO, 1.0),
    "tokens": lambda record: record.spend(GOOD),
    "primed without tokens": lambda record: record.spend(replace(NOTHING, primed=Primed())),
    "primed in vain": lambda record: record.spend(replace(NOTHING, primed=Primed(problem="it failed"))),
    "this name": lambda record: record.name_model("m"),
    "another name": lambda record: record.name_model("n"),
    "fine": lambda record: record.use(FINE),
    "coarse": lambda record: record.use(COARSE),
}


@given(st.lists(st.sampled_from(sorted(CHANGES)), max_size=12))
@example(["success", "coarse", "fine"])
@example(["primed without tokens"])
def test_no_change_of_the_series_leaves_the_version_as_it_was(names: list[str]) -> None:
    record = Record("m")
    shown = {record.version: record.snapshot()}
    for name in names:
        CHANGES[name](record)
        assert shown.setdefault(record.version, record.snapshot()) == record.snapshot()


def test_both_text_formats_can_be_rendered() -> None:
    record = Record('quote " backslash \\ line\n')
    record.start()
    record.end(GOOD, SLO, 0.0)
    registry = CollectorRegistry()
    registry.register(MeasuredCollector(lambda: {("chat", "short"): record}, dict, lambda: 1))
    assert b"llm_probe_exporter_inflight 1.0" in generate_latest(registry)
    assert generate_openmetrics(registry).endswith(b"# EOF\n")

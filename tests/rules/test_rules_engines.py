"""Each engine file against what the engine really exposed, captured while it ran."""

import math
from dataclasses import dataclass, field

import pytest
from rules_replay import SECONDS, Labels, Replay, about, capture

from inferwatch.engines import load_engines
from prometheus import vocabulary as names

pytestmark = pytest.mark.tool("promtool")

RATE = "rate"
GROWTH = "growth"


@dataclass(frozen=True)
class Case:
    """An engine's captures, and which captured metric each plain concept must be the sum of."""

    engine: str
    captures: tuple[str, str, str]
    scraped: Labels
    model_name: str
    gauges: dict[str, str] = field(default_factory=dict)
    counters: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def replay(self) -> Replay:
        first, last, held = (capture(file) for file in self.captures)
        return Replay(first, last, held, self.scraped)

    @property
    def labels(self) -> Labels:
        return {"target": "t", "instance": "host:1", "model_name": self.model_name, "inference_engine": self.engine}


SCRAPED = {"job": "llm-engine", "target": "t", "instance": "host:1"}
CASES = [
    Case(
        "vllm",
        ("vllm-0.32.0-idle.prom", "vllm-0.32.0-after.prom", "vllm-0.32.0-busy.prom"),
        SCRAPED,
        "tiny",
        gauges={
            "requests_running": "vllm:num_requests_running",
            "requests_waiting": "vllm:num_requests_waiting",
            "kv_cache_usage_ratio:max": "vllm:kv_cache_usage_perc",
            "kv_cache_usage_ratio:avg": "vllm:kv_cache_usage_perc",
        },
        counters={
            "prompt_tokens": ("vllm:prompt_tokens_total",),
            "output_tokens": ("vllm:generation_tokens_total",),
            "preemptions": ("vllm:num_preemptions_total",),
        },
    ),
    Case(
        "llamacpp",
        ("llamacpp-b11549-idle.prom", "llamacpp-b11549-after.prom", "llamacpp-b11549-busy.prom"),
        SCRAPED | {"model_name": "smol"},
        "smol",
        gauges={"requests_running": "llamacpp:requests_processing", "requests_waiting": "llamacpp:requests_deferred"},
        counters={
            "prompt_tokens": ("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"),
            "output_tokens": ("llamacpp:tokens_predicted_total",),
        },
    ),
]
by_engine = pytest.mark.parametrize("case", CASES, ids=lambda case: case.engine)


@by_engine
def test_concepts_have_the_captured_values_and_exactly_the_promised_labels(case: Case, promtool_test):
    replay, concepts = case.replay(), load_engines()[case.engine].concepts
    expected = [about(f"llm:{concept}", replay.gauge(name)[0], case.labels) for concept, name in case.gauges.items()]
    for concept, counters in case.counters.items():
        growth = sum(replay.growth(name) for name in counters)
        if f"{concept}:rate5m" in concepts:
            expected.append(about(f"llm:{concept}:rate5m", growth / SECONDS, case.labels))
        if f"{concept}:increase1h" in concepts:
            expected.append(about(f"llm:{concept}:increase1h", growth, case.labels))
    assert any(replay.growth(name) > 0 for counters in case.counters.values() for name in counters)
    promtool_test({"interval": "15s", "input_series": replay.input_series(), "promql_expr_test": expected})


def test_every_engine_file_is_replayed_and_every_plain_concept_of_it():
    assert {case.engine for case in CASES} == set(load_engines())
    for case in CASES:
        plain = {*case.gauges, *(f"{name}:{kind}" for name in case.counters for kind in ("rate5m", "increase1h"))}
        extra = {"requests_finished:rate5m", "requests_succeeded:increase1h"}
        assert set(load_engines()[case.engine].concepts) <= plain | extra


def test_vllm_finished_requests_keep_their_reason(promtool_test):
    case = CASES[0]
    replay = case.replay()
    reasons = {sample.labels["finished_reason"] for sample in replay.last if "finished_reason" in sample.labels}
    assert {"stop", "length", "abort", "error"} <= reasons
    expected = [
        about(
            f'llm:requests_finished:rate5m{{reason="{reason}"}}',
            replay.growth("vllm:request_success_total", lambda labels, r=reason: labels["finished_reason"] == r)
            / SECONDS,
            case.labels | {"reason": reason},
        )
        for reason in sorted(reasons)
    ]
    expected.append(about("llm:requests_succeeded:increase1h", 10, case.labels))
    promtool_test({"interval": "15s", "input_series": replay.input_series(), "promql_expr_test": expected})


def _interpolated(replay: Replay, histogram: str, quantile: float) -> float:
    """Return a quantile as Prometheus estimates it: linear within the bucket that holds it."""
    buckets = sorted(
        (
            math.inf if bound == "+Inf" else float(bound),
            replay.growth(f"{histogram}_bucket", lambda labels, b=bound: labels["le"] == b),
        )
        for bound in {sample.labels["le"] for sample in replay.last if sample.name == f"{histogram}_bucket"}
    )
    rank = quantile * buckets[-1][1]
    low, below = 0.0, 0.0
    for high, count in buckets:
        if count >= rank and count > below:
            return low if math.isinf(high) else low + (high - low) * (rank - below) / (count - below)
        low, below = high, count
    raise AssertionError(histogram)


@pytest.mark.parametrize("latency", sorted(load_engines()["vllm"].histograms))
def test_vllm_latencies_follow_from_the_captured_histogram(latency: str, promtool_test):
    case = CASES[0]
    replay = case.replay()
    newest = load_engines()["vllm"].histograms[latency][0]
    per_model = {name: value for name, value in case.labels.items() if name != "instance"}
    expected = [
        about(names.quantile(latency, name), _interpolated(replay, newest, value), per_model)
        for name, value in names.QUANTILES.items()
    ]
    total, count = replay.growth(f"{newest}_sum"), replay.growth(f"{newest}_count")
    assert count > 0
    expected.append(about(names.quantile(latency, "mean"), total / count, per_model))
    expected.append(about(names.observations(latency), count * 300 / SECONDS, per_model))
    expected.append(
        about(f'{names.buckets(latency)}{{le="+Inf"}}', count / SECONDS, case.labels | {"le": "+Inf"}),
    )
    promtool_test({"interval": "15s", "input_series": replay.input_series(), "promql_expr_test": expected})


def test_every_latency_of_the_vocabulary_is_one_that_some_engine_has():
    assert {latency for engine in load_engines().values() for latency in engine.histograms} == set(names.LATENCIES)

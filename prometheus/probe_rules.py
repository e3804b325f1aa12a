"""`llm_probe:*`: what the probes measured, summed over all probers of a target."""

from exporters.probe import metrics as probe
from inferwatch.metric import Metric
from prometheus import vocabulary as names
from prometheus.groups import SLOW, Group, Rule, group, record
from prometheus.promql import RATE_WINDOW_SECONDS, aggregate, rate

SERIES = probe.PROBE
HISTOGRAMS: dict[str, Metric] = {"ttft": probe.TTFT, "tpot": probe.TPOT, "e2e": probe.E2E}
# A probe that says nothing about the target: its own limit, or a measurement that was disturbed (design: goodput).
NOT_JUDGED = "tainted|rate_limited"


def groups() -> list[Group]:
    """Return the group of the latencies that pages read, and the group of the rest."""
    prompt: list[Rule] = []
    slow: list[Rule] = []
    for latency, histogram in HISTOGRAMS.items():
        (prompt if latency in names.PAGED_LATENCIES else slow).extend(_quantiles(latency, histogram))
        slow.append(_mean(latency, histogram))
    success = aggregate("sum", SERIES, rate(probe.REQUESTS, outcome="success"))
    judged = aggregate("sum", SERIES, rate(probe.REQUESTS, outcome=f"!~{NOT_JUDGED}"))
    slow.append(record(names.PROBE_SUCCESS_RATIO, f"{success}\n/\n({judged} > 0)"))
    return [group("llm-probe", prompt), group("llm-probe-slow", slow, SLOW)]


def _quantiles(latency: str, histogram: Metric) -> list[Rule]:
    recorded = names.buckets(latency, "llm_probe")
    count = aggregate("sum", SERIES, rate(histogram.count))
    return [
        record(recorded, aggregate("sum", (*SERIES, "le"), rate(histogram.bucket))),
        # NaN without probes in the window; the comparison drops it.
        *(
            record(names.quantile(latency, name, "llm_probe"), f"histogram_quantile({value}, {recorded}) >= 0")
            for name, value in names.QUANTILES.items()
        ),
        record(names.observations(latency, "llm_probe"), f"{RATE_WINDOW_SECONDS} * {count} > 0"),
    ]


def _mean(latency: str, histogram: Metric) -> Rule:
    total, count = (aggregate("sum", SERIES, rate(part)) for part in (histogram.sum, histogram.count))
    return record(names.quantile(latency, "mean", "llm_probe"), f"{total}\n/\n({count} > 0)")

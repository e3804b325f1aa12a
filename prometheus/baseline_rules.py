"""What is usual: each series over the last day ending an hour ago, so that an incident is not its own measure."""

from prometheus import vocabulary as names
from prometheus.groups import SLOW, Group, Rule, group, record
from prometheus.probe_rules import HISTOGRAMS, SERIES
from prometheus.promql import aggregate, increase, rate

COMPARED = ("ttft", "tpot")
# Each value rests on five minutes or more, so one in five minutes tells as much as all of them.
WINDOW = "[1d:5m] offset 1h"
# An hour of them; with fewer there is no "usual".
FEWEST = 12
# Reading a day of samples costs; the answer changes slowly. Well under the five minutes after which it would be stale.
INTERVAL = "2m"


def groups() -> list[Group]:
    """Return the probes' slow medians, and the group of baselines."""
    medians = [rule for latency in COMPARED for rule in _medians(latency)]
    baselines: list[Rule] = []
    for latency in COMPARED:
        baselines.append(_usual(0.5, names.quantile(latency, "p99")))
        baselines.append(_usual(0.5, names.probe_median(latency)))
    baselines.append(_usual(0.95, names.GPU_THROTTLED))
    return [group("llm-probe-medians", medians, SLOW), group("baselines", baselines, INTERVAL)]


def _medians(latency: str) -> list[Rule]:
    buckets = aggregate("sum", (*SERIES, "le"), rate(HISTOGRAMS[latency].bucket, "30m"))
    count = aggregate("sum", SERIES, increase(HISTOGRAMS[latency].count, "30m"))
    return [
        record(names.probe_median(latency), f"histogram_quantile(0.5, {buckets}) >= 0"),
        record(names.probe_median_observations(latency), f"{count} > 0"),
    ]


def _usual(quantile: float, name: str) -> Rule:
    usual = f"quantile_over_time({quantile}, {name}{WINDOW})"
    return record(names.baseline(name), f"{usual}\nand\ncount_over_time({name}{WINDOW}) >= {FEWEST}")

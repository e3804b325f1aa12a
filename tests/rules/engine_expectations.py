"""What a case's latencies must be, computed from the captured histogram without PromQL."""

import math
from typing import NamedTuple

from engine_case import Case
from rules_replay import SECONDS, Labels, Replay

from prometheus import vocabulary as names


class Expectation(NamedTuple):
    """One sample of one recorded series: exactly these labels, about this value."""

    expr: str
    value: float
    labels: Labels


def expectations(case: Case) -> list[Expectation]:
    """Return everything that must be recorded from a case's captures."""
    plain = [Expectation(f"{case.prefix}:{name}", value, case.labels_of(name)) for name, value in case.expected.items()]
    replay = case.replay()
    return plain + [
        one
        for latency, (histogram, where) in case.latencies.items()
        for one in _latency(case, replay, latency, histogram, where)
    ]


def _latency(case: Case, replay: Replay, latency: str, histogram: str, where: Labels) -> list[Expectation]:
    def growth(part: str, **labels: str) -> float:
        return replay.growth(f"{histogram}_{part}", lambda have: (where | labels).items() <= have.items())

    model = {"target": "t", "model_name": case.model_name} | case.stamp
    count = growth("count")
    bounds = sorted(
        {float(one.labels["le"]): one.labels["le"] for one in replay.last if one.name == f"{histogram}_bucket"}.items()
    )
    buckets = [(bound, growth("bucket", le=text)) for bound, text in bounds]
    recorded = names.buckets(latency, case.prefix)
    inf = Expectation(f'{recorded}{{le="+Inf"}}', count / SECONDS, model | {"le": "+Inf"})
    if not count:
        return [inf]
    return [
        inf,
        *(
            Expectation(names.quantile(latency, name, case.prefix), _interpolated(buckets, value), model)
            for name, value in names.QUANTILES.items()
        ),
        Expectation(names.quantile(latency, "mean", case.prefix), growth("sum") / count, model),
        Expectation(names.observations(latency, case.prefix), count * 300 / SECONDS, model),
        Expectation(names.beyond_buckets(latency, case.prefix), 1 - buckets[-2][1] / count, model),
        Expectation(names.first_bucket(latency, case.prefix), buckets[0][1] / count, model),
    ]


def _interpolated(buckets: list[tuple[float, float]], quantile: float) -> float:
    """Return a quantile as Prometheus estimates it: linear within the bucket that holds it.

    In a bucket that begins below 0 there is nothing to interpolate, so its bound is the estimate.
    """
    rank = quantile * buckets[-1][1]
    low, below = 0.0, 0.0
    for high, count in buckets:
        if count >= rank and count > below:
            return low if math.isinf(high) or high <= 0 else low + (high - low) * (rank - below) / (count - below)
        low, below = high, count
    raise AssertionError(buckets)

"""Latency: is it slow, and since when?"""

from grafanalib import core

from dashboards import expressions as expr
from dashboards.layout import Item, Section
from dashboards.panels import Query, objective_line, timeseries

SOURCE = (
    "The name of a line says where it comes from: `engine` is the engine's own histogram over all requests, "
    "`probe` is what our probes saw from outside, used where the engine has none."
)
EMPTY = "no requests in the last 5 minutes"


def section() -> Section:
    """Return the row."""
    panels = (_first_token(), _per_token(), _p99())
    return Section("Latency", tuple(Item(panel, width=8, height=8) for panel in panels))


def _first_token() -> core.TimeSeries:
    return timeseries(
        "TTFT",
        "Time to first token: how long a user waits before text appears. P50 is the usual request, P95 the slow one; "
        f"when only P95 rises, look at the queue. Dashed: the target's objective. {SOURCE}",
        "s",
        [*_quantiles("ttft"), Query(expr.objective("ttft"), "{{target}} objective (quantile {{quantile}})")],
        empty=EMPTY,
        overrides=[objective_line("C")],
        runbook="TTFTHigh",
    )


def _per_token() -> core.TimeSeries:
    return timeseries(
        "TPOT",
        "Time per output token after the first: the pace at which text appears. It rises with the batch size and when "
        f"GPUs throttle. Dashed: the target's objective. {SOURCE}",
        "s",
        [*_quantiles("tpot"), Query(expr.objective("tpot"), "{{target}} objective (quantile {{quantile}})")],
        empty=EMPTY,
        overrides=[objective_line("C")],
        runbook="TPOTHigh",
    )


def _p99() -> core.TimeSeries:
    return timeseries(
        "P99 latency",
        "The slowest request of a hundred: E2E is the whole answer, TTFT its first token. With fewer than a hundred "
        "requests in 5 minutes it is about the slowest of all, and jumps; E2E grows with the length of answers too. "
        f"{SOURCE}",
        "s",
        [
            Query(expr.engine_or_probe("e2e", "p99"), "{{target}} E2E P99 ({{source}})"),
            Query(expr.engine_or_probe("ttft", "p99"), "{{target}} TTFT P99 ({{source}})"),
        ],
        empty=EMPTY,
        runbook="LatencyRegression",
    )


def _quantiles(latency: str) -> list[Query]:
    return [
        Query(expr.engine_or_probe(latency, "p50"), "{{target}} P50 ({{source}})"),
        Query(expr.engine_or_probe(latency, "p95"), "{{target}} P95 ({{source}})"),
    ]

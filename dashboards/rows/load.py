"""Load: how much work is there, and does it pile up?"""

from grafanalib import core

from dashboards import expressions as expr
from dashboards.layout import Item, Section
from dashboards.panels import Query, timeseries
from prometheus import vocabulary as names

EMPTY = "no engine metrics: give the target a metrics address"


def section() -> Section:
    """Return the row."""
    panels = (_queue(), _tokens(), _kv_cache())
    return Section("Load", tuple(Item(panel, width=8, height=8) for panel in panels))


def _queue() -> core.TimeSeries:
    return timeseries(
        "Queue depth",
        "Waiting requests are accepted and not yet begun; running ones are being answered; both summed over replicas. "
        "Waiting above 0 while running stays flat means that the engine is full. Source: engine.",
        "none",
        [
            Query(expr.by_target(names.REQUESTS_WAITING, "sum"), "{{target}} waiting"),
            Query(expr.by_target(names.REQUESTS_RUNNING, "sum"), "{{target}} running"),
        ],
        empty=EMPTY,
        runbook="QueueDepthHigh",
    )


def _tokens() -> core.TimeSeries:
    return timeseries(
        "Tokens per second",
        "Output tokens are generated, prompt tokens are read in; summed over replicas, averaged over 5 minutes, users "
        "and probes together. The line of users leaves out what probes caused; cost divides by that. Source: engine.",
        "suffix:tok/s",
        [
            Query(expr.by_target(names.OUTPUT_TOKENS_RATE, "sum"), "{{target}} output"),
            Query(expr.by_target(names.USER_OUTPUT_TOKENS_RATE, "sum"), "{{target}} output of users"),
            Query(expr.by_target(names.PROMPT_TOKENS_RATE, "sum"), "{{target}} prompt"),
        ],
        empty=EMPTY,
    )


def _kv_cache() -> core.TimeSeries:
    return timeseries(
        "KV cache used",
        "The fullest replica of each target. Near 100 % new requests wait, and some engines throw running ones out and "
        "begin them again. A full cache with a queue needs more GPUs or shorter prompts. Source: engine.",
        "percentunit",
        [Query(expr.by_target(names.KV_CACHE_MAX), "{{target}}")],
        empty="no engine that reports its KV cache",
        ceiling=1,
    )

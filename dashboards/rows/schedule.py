"""The measurement itself: do probes run when they are due, may they, and can their times be trusted?"""

from grafanalib import core

from dashboards import expressions as expr
from dashboards.layout import Item, Section
from dashboards.panels import Query, state_timeline, timeseries
from exporters.probe import metrics as probe

PAUSED = {0: ("probed", "green"), 1: ("paused", "orange")}
EMPTY = "no probes: no target is configured, or the probe exporter does not answer"


def section() -> Section:
    """Return the row."""
    panels = (_skipped(), _paused(), _budget(), _tainted())
    return Section("Whether probes run", tuple(Item(panel, width=6, height=8) for panel in panels))


def _skipped() -> core.TimeSeries:
    return timeseries(
        "Probes not started",
        "Probes that were due and not started in each bar's time: overlap, the last one still ran or waited; misfire, "
        "too late; budget, spent for today; backoff, it fails or asked for patience; asleep, it must not be woken. "
        "Source: probes.",
        "none",
        [Query(expr.in_each_bar(probe.SKIPPED, "scenario", "reason"), "{{target}} {{scenario}} {{reason}}", "5m")],
        empty="every probe that was due was started",
        bars=True,
        runbook="ProbeStale",
    )


def _paused() -> core.StateTimeline:
    paused = f"min by (target, reason) ({probe.PAUSED}{{{expr.TARGET}}})"
    return state_timeline(
        "Paused",
        "Orange: every prober leaves the target alone, and why. Nothing is measured meanwhile. Source: probes.",
        "none",
        [Query(paused, "{{target}} {{reason}}")],
        empty=EMPTY,
        mappings=PAUSED,
        runbook="ProbePaused",
    )


def _budget() -> core.TimeSeries:
    return timeseries(
        "Tokens left today",
        "What the probes of a target may still use today (UTC) of the budget that inferwatch.yml gives them, by the "
        "prober that has the least. At 0 they pause until tomorrow. Source: probes.",
        "none",
        [Query(expr.by_target(probe.BUDGET_LEFT_TOKENS, "min"), "{{target}}")],
        empty="no target has a probe_budget of tokens",
        runbook="ProbePaused",
    )


def _tainted() -> core.TimeSeries:
    tainted, ended = (
        f"sum by (target) (increase({probe.REQUESTS}{{{matchers}}}[$__rate_interval]))"
        for matchers in (f'{expr.TARGET}, outcome="tainted"', expr.TARGET)
    )
    return timeseries(
        "Tainted probes",
        "The share of probes that cannot be trusted, as the prober itself was late, or a cache could not be primed: "
        "they are counted, and their times are not observed. Above a few percent the prober's machine is too busy. "
        "Source: probes.",
        "percentunit",
        [Query(f"{tainted}\n/ ({ended} > 0)", "{{target}}", min_step="5m")],
        empty=EMPTY,
        ceiling=1,
    )

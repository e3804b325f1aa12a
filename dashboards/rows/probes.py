"""Probes: what a user outside would see."""

from grafanalib import core

from dashboards import expressions as expr
from dashboards.layout import Item, Section
from dashboards.panels import Query, by_query, timeseries
from exporters.probe import metrics as probe

# Probes run about once a minute, so their rates need more than a few scrapes; `$__rate_interval` is four steps.
FIVE_MINUTES = "75s"
ONE_HOUR = "15m"
EMPTY = "no probes: no target is configured, or the probe exporter does not answer"


def section() -> Section:
    """Return the row."""
    panels = (_outcomes(), _attainment(), _phases())
    return Section("Probes", tuple(Item(panel, width=8, height=8) for panel in panels))


def _outcomes() -> core.TimeSeries:
    passed = f'increase({probe.REQUESTS}{{{expr.TARGET}, outcome="success"}}[$__interval])'
    failed = f'increase({probe.REQUESTS}{{{expr.TARGET}, outcome!="success"}}[$__interval])'
    return timeseries(
        "Probe outcomes",
        "How many probes ended in each bar's time, by outcome: green passed, the others name what went wrong "
        "(docs/definitions.md lists them all). No bars at all means that no probe ended. Counts may show fractions, as "
        "Prometheus extrapolates. Source: probes.",
        "none",
        [
            Query(f"sum({passed})", "success", min_step="5m"),
            Query(f"sum by (target, outcome) ({failed}) > 0", "{{target}} {{outcome}}", min_step="5m"),
        ],
        empty=EMPTY,
        bars=True,
        overrides=[by_query("A", color={"mode": "fixed", "fixedColor": "green"})],
        runbook="ProbeFailing",
    )


def _attainment() -> core.TimeSeries:
    return timeseries(
        "Good probes, last hour",
        "The share of probes in the last hour or more that succeeded and met every latency objective of their target; "
        "tainted and rate-limited ones do not count. With one probe a minute a single miss costs 1.7 points. "
        "Source: probes.",
        "percentunit",
        [Query(expr.within_objectives("$__rate_interval"), "{{target}}", min_step=ONE_HOUR)],
        empty=EMPTY,
        ceiling=1,
        runbook="ProbeFailing",
    )


def _phases() -> core.TimeSeries:
    total, count = (
        f"sum by (target, phase) (rate({metric}{{{expr.TARGET}}}[$__rate_interval]))"
        for metric in (probe.PHASE_SUM, probe.PHASE_COUNT)
    )
    return timeseries(
        "Where a probe's time goes",
        "Mean time of each phase of a probe. dns, tcp and tls are the way there; the model does not slow them. "
        "headers and first_event together are the server's queue and prefill; engines split them differently. tail is "
        "what follows the last token. Generating is not a phase; see TPOT. Source: probes.",
        "s",
        [Query(f"{total}\n/ ({count} > 0)", "{{target}} {{phase}}", min_step=FIVE_MINUTES)],
        empty=EMPTY,
    )

"""What comes back: who answers probes, with which status, and how the answers end."""

from grafanalib import core

from dashboards import expressions as expr
from dashboards.layout import Item, Section
from dashboards.panels import Column, Query, table, timeseries
from exporters.probe import metrics as probe

# Probes run about once a minute.
BAR = "5m"


def section() -> Section:
    """Return the row; it needs no title, as it is the top of the page."""
    panels = (_outcomes(), _statuses(), _endings())
    return Section(
        "", (Item(_who_answers(), width=24, height=6), *(Item(panel, width=8, height=8) for panel in panels))
    )


def _who_answers() -> core.Table:
    row = {
        "target": "Target",
        "model_name": "Asked for",
        "response_model": "Answers as",
        "fingerprint": "Fingerprint",
        "server_version": "Server version",
    }
    named = f"max by ({', '.join(row)}) ({probe.RESPONSE_MODEL_INFO}{{{expr.TARGET}}})"
    by_prober = f"sum by (target, model_name, instance) (increase({probe.IDENTITY_CHANGES}{{{expr.TARGET}}}[$__range]))"
    changes = f"max by (target, model_name) ({by_prober})"
    return table(
        "Who answers",
        "What the last answer of each target called its model and its build, and the version that its server gives. "
        "Changes counts how often one of them became another in the time shown; some services alternate between "
        "fingerprints. An empty cell is not told by the server. Source: probes.",
        row,
        [Column("Changes", f"round({named} * on (target, model_name) group_left () {changes})", "none")],
        empty="no answer has named a model",
        sort_by="Target",
    )


def _outcomes() -> core.TimeSeries:
    return timeseries(
        "Outcomes by scenario",
        "How many probes of each scenario ended in each bar's time, by outcome (docs/definitions.md lists them all). "
        "Counts may show fractions, as Prometheus extrapolates. Source: probes.",
        "none",
        [Query(expr.in_each_bar(probe.REQUESTS, "scenario", "outcome"), "{{target}} {{scenario}} {{outcome}}", BAR)],
        empty="no probe has ended",
        bars=True,
        runbook="ProbeFailing",
    )


def _statuses() -> core.TimeSeries:
    return timeseries(
        "HTTP statuses of answers",
        "How many probes were answered in each bar's time, by HTTP status. An answer of 200 can still hold an error or "
        "break off: the outcomes tell. A status that a target gives for the first time shows from its second answer "
        "on. Source: probes.",
        "none",
        [Query(expr.in_each_bar(probe.HTTP_RESPONSES, "code"), "{{target}} {{code}}", BAR)],
        empty="no target has answered a probe",
        bars=True,
        runbook="ProbeFailing",
    )


def _endings() -> core.TimeSeries:
    return timeseries(
        "How answers end",
        "The finish reasons that servers gave in each bar's time: stop ended by itself, length at the token limit. "
        "An answer without one was truncated, and is not counted here. Source: probes.",
        "none",
        [Query(expr.in_each_bar(probe.FINISHED, "reason"), "{{target}} {{reason}}", BAR)],
        empty="no answer of a probe has named a reason",
        bars=True,
    )

"""Each scenario's own latencies: cold against warm, short against long, and where the time goes."""

from grafanalib import core

from dashboards import expressions as expr
from dashboards.layout import Item, Section
from dashboards.panels import Query, timeseries
from exporters.probe import metrics as probe
from inferwatch.metric import Metric

SCENARIO = "{{target}} {{scenario}}"
EMPTY = "no probe has succeeded: no target is configured, or the probe exporter does not answer"
# Rates of what comes about once a minute; `$__rate_interval` is four of them.
FIVE_MINUTES = "75s"


def section() -> Section:
    """Return the row."""
    thirds = (_first_token(), _first_text(), _per_token())
    halves = (_phases(), _server())
    return Section(
        "By scenario",
        (*(Item(panel, width=8, height=8) for panel in thirds), *(Item(panel, width=12, height=8) for panel in halves)),
    )


def _last(metric: Metric, *more: str) -> str:
    return f"max by ({', '.join(('target', 'scenario', *more))}) ({metric}{{{expr.TARGET}}})"


def _first_token() -> core.TimeSeries:
    return timeseries(
        "TTFT of the last probe",
        "Time to first token of each scenario's last probe that succeeded. With a cold and a warm scenario the "
        "distance between their lines is what the prefix cache saves; lines that meet mean that it saves nothing. "
        "Source: probes.",
        "s",
        [Query(_last(probe.LAST_TTFT), SCENARIO)],
        empty=EMPTY,
        runbook="TTFTHigh",
    )


def _first_text() -> core.TimeSeries:
    return timeseries(
        "First text of the last probe",
        "How long a user of the last probe waited for the first text to read. Where it is later than TTFT, the model "
        "reasoned before it answered. Source: probes.",
        "s",
        [Query(_last(probe.LAST_TTFO), SCENARIO)],
        empty=EMPTY,
    )


def _per_token() -> core.TimeSeries:
    return timeseries(
        "TPOT of the last probe",
        "Time per output token after the first, of each scenario's last probe that succeeded; absent for answers of "
        "one token and for streams that come all at once. Source: probes.",
        "s",
        [Query(_last(probe.LAST_TPOT), SCENARIO)],
        empty=EMPTY,
        runbook="TPOTHigh",
    )


def _phases() -> core.TimeSeries:
    total, count = (
        f"sum by (target, scenario, phase) (rate({metric}{{{expr.TARGET}}}[$__rate_interval]))"
        for metric in (probe.PHASE_SUM, probe.PHASE_COUNT)
    )
    return timeseries(
        "Phases by scenario",
        "Mean time of each phase of a probe: dns, tcp and tls are the way there, headers and first_event the server's "
        "queue and prefill, tail what follows the last token. Source: probes.",
        "s",
        [Query(f"{total}\n/ ({count} > 0)", SCENARIO + " {{phase}}", min_step=FIVE_MINUTES)],
        empty=EMPTY,
    )


def _server() -> core.TimeSeries:
    return timeseries(
        "Time by the server's own account",
        "How long the server says that it loaded, read the prompt and generated for the last probe. What a probe "
        "measures beyond it is queue and network. Only llama.cpp and Ollama tell. Source: the server, through probes.",
        "s",
        [Query(_last(probe.LAST_SERVER, "phase"), SCENARIO + " {{phase}}")],
        empty="no server tells its own times; llama.cpp and Ollama do",
    )

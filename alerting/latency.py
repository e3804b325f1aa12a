"""Whether targets are slow: against their objectives (pages) and against their own past (tickets)."""

from alerting.alert import Alert, looked_up
from exporters.probe import metrics as probe
from prometheus import vocabulary as names
from prometheus.baseline_rules import COMPARED
from prometheus.promql import block, configured, indent

TITLES = {"ttft": "TTFT", "tpot": "TPOT"}
CAUSES = {
    "ttft": "requests queue, prompts have become long, or the GPU is throttled",
    "tpot": "too many requests run at once, requests are preempted, or the GPU is throttled",
}
# A page rests on at least three slow requests. Where a window holds too few for the named quantile to show that, the
# median must be over the objective as well.
SLOW_REQUESTS = 3
REGRESSION_FACTOR = 1.5
FEWEST_REQUESTS = 30
FEWEST_PROBES = 5
_WHERE = "{{ $labels.target }} (model {{ $labels.model_name }})"


def _either(latency: str, name: str) -> str:
    """Return the engine's quantile and, for a target that has none, the probes'."""
    return f"({names.quantile(latency, name)} or on (target) {names.quantile(latency, name, 'llm_probe')})"


def _over_objective(latency: str, name: str, quantile: float) -> str:
    """Return the quantile where it is above the objective that names this quantile."""
    objective = configured(probe.TARGET_SLO, ("target",), slo=latency, quantile=str(quantile))
    count = f"({names.observations(latency)} or on (target) {names.observations(latency, 'llm_probe')})"
    over = f"> on (target) group_left ()\n{indent(objective)}"
    median_over = f"{_either(latency, 'p50')}\n{over}\nand\n{count} >= {SLOW_REQUESTS}"
    if name == "p50":
        return median_over
    enough = f"{count} >= {round(SLOW_REQUESTS / (1 - quantile))}"
    return f"{_either(latency, name)}\n{over}\nand " + block(f"{enough}\nor\n{median_over}")


def _high(latency: str, name: str, quantile: float) -> Alert:
    title = TITLES[latency]
    return Alert(
        f"{title}High",
        expr=_over_objective(latency, name, quantile),
        wait="60s",
        severity="page",
        family="latency",
        labels={"quantile": name},
        summary=f"{{{{ $labels.target }}}} is slow: {title} {name} {{{{ $value | humanizeDuration }}}}",
        description=(
            f"The {name} of {title} of {_WHERE} over five minutes is {{{{ $value | humanizeDuration }}}}; "
            "its objective is "
            + looked_up(
                f"max(last_over_time({probe.TARGET_SLO}{{target='%s', slo='{latency}', quantile='{quantile}'}}[15m]))",
                "target",
                shown="value . | humanizeDuration",
            )
            + ". {{ if $labels.scenario }}Measured by probes ({{ $labels.scenario }}){{ else }}Measured by the engine "
            f"over all requests{{{{ end }}}}. Likely: {CAUSES[latency]}."
        ),
    )


def _regression(latency: str) -> Alert:
    title = TITLES[latency]
    engine, probes = names.quantile(latency, "p99"), names.probe_median(latency)
    return Alert(
        "LatencyRegression",
        expr=(
            _slower(engine, names.observations(latency), FEWEST_REQUESTS)
            + "\nor on (target)\n"
            + _slower(probes, names.probe_median_observations(latency), FEWEST_PROBES)
        ),
        wait="15m",
        severity="ticket",
        family="latency",
        labels={"latency": latency},
        summary=f"{title} of {{{{ $labels.target }}}} is well above its usual",
        description=(
            f"{title} of {_WHERE} is {{{{ $value | humanizeDuration }}}}, more than {REGRESSION_FACTOR} times "
            "the median of its last day. "
            "{{ if $labels.scenario }}This is the probes' median over 30 minutes ({{ $labels.scenario }})"
            "{{ else }}This is the engine's p99 over five minutes{{ end }}. It has held for a quarter of an hour. "
            "Likely: a deployment, a changed workload, or slower hardware since then."
        ),
    )


def _slower(name: str, count: str, fewest: int) -> str:
    return block(f"{name} > {REGRESSION_FACTOR} * {names.baseline(name)}\nand\n{count} >= {fewest}")


def _queue() -> Alert:
    waiting, running = names.REQUESTS_WAITING, names.REQUESTS_RUNNING
    per = "sum by (target, model_name, inference_engine)"
    return Alert(
        "QueueDepthHigh",
        # Against the running batch, since a fixed number fits no two engines: a queue as long as the batch makes a new
        # request wait for about one whole request.
        expr=(
            f"{per} (avg_over_time({waiting}[5m]))\n> {per} (avg_over_time({running}[5m]))\n"
            f"and\n{per} (min_over_time({waiting}[5m])) > 0"
        ),
        wait="5m",
        severity="ticket",
        family="saturation",
        summary="Requests queue at {{ $labels.target }}",
        description=(
            f"On average {{{{ $value | humanize }}}} requests of {_WHERE} wait to be scheduled, more than run, "
            "and the queue has not been empty for five minutes. Likely: more load than "
            "this many replicas can serve, long prompts, or a replica that is stuck."
        ),
    )


def alerts() -> list[Alert]:
    """Return the alerts on latency and on what comes before it, the queue."""
    high = [_high(latency, name, value) for latency in TITLES for name, value in names.QUANTILES.items()]
    return [*high, *(_regression(latency) for latency in COMPARED), _queue()]

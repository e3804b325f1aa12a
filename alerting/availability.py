"""Whether targets answer, and whether anybody is still looking."""

from alerting.alert import Alert, looked_up
from exporters.probe import metrics as probe
from prometheus.promql import aggregate, block, configured, increase, selector

TARGET = ("target",)
PROBED = ("target", "scenario")
ENGINE_UP = 'up{job="llm-engine"}'
PAST_OUTAGE = 'ALERTS{alertname="TargetDown", alertstate="firing"}'
CANNOT_CONNECT = "dns|connect|tls"
# Being limited is neither success nor failure: the server works, and ProbePaused tells that nothing is measured.
FAILED = "!~success|tainted|rate_limited"
JUDGED = "!~tainted|rate_limited"
# A probe that succeeded this recently shows that a target answers, whatever its metrics do.
RECENT_SECONDS = 90
_FAILED_OF = "outcome!~'success|tainted|rate_limited', target='%s'"


def _target_down() -> Alert:
    answered = aggregate(
        "max", TARGET, f"{probe.LAST_SUCCESS} == 1 and time() - {probe.LAST_RUN_TIMESTAMP} < {RECENT_SECONDS}"
    )
    no_replica = f"{aggregate('max', TARGET, ENGINE_UP)} == 0\nunless on (target)\n{answered}"
    # Two in five minutes by one prober, so that a single lost packet pages nobody.
    refused = aggregate(
        "max",
        TARGET,
        aggregate("sum", ("target", "instance"), increase(probe.REQUESTS, "5m", outcome=f"=~{CANNOT_CONNECT}")),
    )
    none_succeeds = f"{aggregate('max', TARGET, str(probe.LAST_SUCCESS))} == 0"
    not_connecting = f"{none_succeeds}\nand on (target)\n{refused} > 1.5"
    return Alert(
        "TargetDown",
        expr=_unless_asleep(f"{block(no_replica)}\nor\n{block(not_connecting)}"),
        wait="60s",
        severity="page",
        family="availability",
        summary="{{ $labels.target }} is down",
        description=(
            "For a minute, every engine replica of {{ $labels.target }} has failed its scrape and no probe has "
            "succeeded, or its probes cannot connect."
            + looked_up(
                f"topk(1, sum by (outcome) (increase({probe.REQUESTS}{{{_FAILED_OF}}}[5m])) > 0)",
                "target",
                before=" Most frequent outcome of its probes: ",
                shown=".Labels.outcome",
                after=".",
            )
            + " Likely: the server has ended, is still loading its model, or its address is wrong."
        ),
    )


def _engine_targets_gone() -> Alert:
    replicas = configured(probe.TARGET_METRICS_CONFIGURED, TARGET)
    return Alert(
        "EngineTargetsGone",
        expr=f"({replicas} > 0)\nunless on (target)\n{ENGINE_UP}",
        wait="3m",
        severity="ticket",
        family="availability",
        summary="Nothing scrapes the engine of {{ $labels.target }}",
        description=(
            "The configuration lists {{ $value }} metrics address(es) for {{ $labels.target }}, but Prometheus has no "
            "scrape target for it: its queue, tokens and cost are unknown. Likely: service discovery "
            "(/sd/engines of the probe exporter) does not answer, or Prometheus runs with another configuration."
        ),
    )


def _probe_failing() -> Alert:
    # Without model_name: it is empty until a server has told its model, and such series end when it does.
    failed = aggregate("sum", PROBED, increase(probe.REQUESTS, "5m", outcome=FAILED))
    ended = aggregate("sum", PROBED, increase(probe.REQUESTS, "5m", outcome=JUDGED))
    # After an outage the window still holds its failures: TargetDown told of them, and the target answers again.
    over = (
        f"max_over_time({PAST_OUTAGE}[6m])\nand on (target)\n{aggregate('max', TARGET, str(probe.LAST_SUCCESS))} == 1"
    )
    often = f"{failed}\n/ ({ended} > 0)\n> 0.5\nand\n{failed} > 2.5\nunless on (target)\n{block(over)}"
    # Probes that run every few minutes or more seldom: none has succeeded, and it was more than one.
    none = aggregate("max", PROBED, f"max_over_time({probe.LAST_SUCCESS}[15m])")
    twice = aggregate("sum", PROBED, increase(probe.REQUESTS, "2h", outcome=FAILED))
    seldom = f"1 + ({none} == 0)\nand\n{twice} > 1.5"
    return Alert(
        "ProbeFailing",
        expr=_unless_asleep(f"{block(often)}\nor\n{block(seldom)}"),
        wait="60s",
        severity="page",
        family="availability",
        summary="{{ $labels.target }} fails its probes ({{ $labels.scenario }})",
        description=(
            "{{ $value | humanizePercentage }} of the last probes of {{ $labels.target }} ({{ $labels.scenario }}) "
            "failed; more than half is an outage."
            + looked_up(
                f"topk(1, sum by (outcome) (increase({probe.REQUESTS}{{{_FAILED_OF}, scenario='%s'}}[15m])) > 0)",
                "target",
                "scenario",
                before=" Most frequent outcome: ",
                shown=".Labels.outcome",
                after=".",
            )
            + " Users of this endpoint most likely see the same."
        ),
    )


def _probe_stale() -> Alert:
    ended = aggregate("max", PROBED, str(probe.LAST_RUN_TIMESTAMP))
    interval = aggregate("max", PROBED, str(probe.INTERVAL))
    # The first probes of many targets are spread over an interval since the start or the edit that made them.
    due = f"{interval} < time() - scalar(max({probe.CONFIG_RELOAD_TIMESTAMP}))"
    never = f"0 * ({due} unless on (target, scenario) {selector(probe.LAST_RUN_TIMESTAMP)})"
    # A probe may run as long as its timeout before it ends, hence the two minutes.
    stale = f"time() - {ended}\n> on (target, scenario)\n(3 * {interval} + 120)\nor\n{never}"
    paused = f"unless on (target)\n{block(_paused())}"
    return Alert(
        "ProbeStale",
        expr=f"{block(stale)}\n{paused}",
        wait="2m",
        severity="ticket",
        family="availability",
        summary="{{ $labels.target }} is not being probed ({{ $labels.scenario }})",
        description=(
            "{{ if eq $value 0.0 }}No probe of {{ $labels.target }} ({{ $labels.scenario }}) has ever ended."
            "{{ else }}The last probe of {{ $labels.target }} ({{ $labels.scenario }}) ended "
            "{{ $value | humanizeDuration }} ago, more than three intervals.{{ end }} Nobody would notice if it were "
            "slow. Likely: the probe exporter is overloaded or stuck."
        ),
    )


def _paused(reason: str = "") -> str:
    """Return PromQL for the targets that every prober of them has paused, with the reason."""
    paused = selector(probe.PAUSED, reason=reason) if reason else str(probe.PAUSED)
    return f"{aggregate('min', ('target', 'reason'), paused)} == 1"


def _unless_asleep(expr: str) -> str:
    """Return an expression without the targets that sleep and must not be woken: what is off on purpose is not down."""
    return f"{block(expr)}\nunless on (target)\n{block(_paused('asleep'))}"


def _probe_paused() -> Alert:
    limited = aggregate("sum", TARGET, increase(probe.REQUESTS, "15m", outcome="rate_limited"))
    ended = aggregate("sum", TARGET, increase(probe.REQUESTS, "15m", outcome="!=tainted"))
    mostly = f'label_replace({limited} / ({ended} > 0) > 0.9 and {limited} > 2.5, "reason", "rate_limited", "", "")'
    return Alert(
        "ProbePaused",
        # A target that sleeps is as its owner wants it.
        expr=f"{block(_paused('!=asleep'))}\nor\n{block(mostly)}",
        wait="5m",
        severity="ticket",
        family="availability",
        summary="Probes of {{ $labels.target }} pause ({{ $labels.reason }})",
        description=(
            '{{ if eq $labels.reason "budget" }}What probes of {{ $labels.target }} may spend today (UTC) is spent; '
            "they go on at midnight. Raise probe_budget, or the interval, so that a day fits."
            '{{ else if eq $labels.reason "retry_after" }}{{ $labels.target }} asked its probes to wait (Retry-After).'
            "{{ else }}{{ $labels.target }} answers nearly all of its probes with 429.{{ end }}"
            " Meanwhile nobody would notice if it were slow or down, unless its engine is scraped."
        ),
    )


def alerts() -> list[Alert]:
    """Return the alerts on availability."""
    return [_target_down(), _engine_targets_gone(), _probe_failing(), _probe_stale(), _probe_paused()]

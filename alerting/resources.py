"""Whether GPUs are slowed down, and whether tokens cost too much."""

from alerting.alert import Alert, looked_up
from exporters.gpu import metrics as gpu
from exporters.probe import metrics as probe
from prometheus import vocabulary as names
from prometheus.promql import configured

# A tenth of five minutes is 30 s: longer than a burst, short enough that a GPU in trouble is named within minutes.
THROTTLED = 0.1
REGRESSION_MARGIN = 0.02
REGRESSION_FACTOR = 2
_REASON = looked_up(
    f"topk(1, {names.GPU_THROTTLE_BY_REASON}{{node='%s', gpu='%s', reason=~'{'|'.join(gpu.HARMFUL_REASONS)}'}})",
    "node",
    "gpu",
    shown=".Labels.reason",
)
SERVES = (
    f"{{{{ range printf \"max by (target) ({probe.TARGET_GPU_INFO}{{node='%s', gpu='%s'}})\" $labels.node $labels.gpu "
    "| query | sortByLabel `target` }} It serves {{ .Labels.target }}.{{ end }}"
)
GPU_SENTENCE = "GPU {{ $labels.gpu }} of {{ $labels.node }} ({{ $labels.uuid }})"


def _throttling() -> Alert:
    return Alert(
        "GPUThrottling",
        expr=f"{names.GPU_THROTTLED} > {THROTTLED}",
        wait="60s",
        severity="ticket",
        family="gpu",
        summary="GPU {{ $labels.gpu }} of {{ $labels.node }} is throttled: " + _REASON,
        description=(
            f"{GPU_SENTENCE} spent {{{{ $value | humanizePercentage }}}} of the last five minutes slowed down, the "
            f"limit is {THROTTLED:.0%}. Reason: {_REASON}.{SERVES} Likely: cooling (thermal reasons), or the power "
            "supply (hw_power_brake_slowdown); a power cap alone is not counted here."
        ),
    )


def _regression() -> Alert:
    usual = names.baseline(names.GPU_THROTTLED)
    return Alert(
        "ThrottlingRegression",
        expr=f"{names.GPU_THROTTLED}\n> {REGRESSION_MARGIN} + {REGRESSION_FACTOR} * {usual}",
        wait="15m",
        severity="ticket",
        family="gpu",
        summary="GPU {{ $labels.gpu }} of {{ $labels.node }} is throttled more than usual",
        description=(
            f"{GPU_SENTENCE} spent {{{{ $value | humanizePercentage }}}} of the last five minutes slowed down, more "
            f"than twice the 95th percentile of its last day. Reason: {_REASON}.{SERVES} Likely: cooling that gets "
            "worse (dust, a fan, the room), or a load that is hotter than before."
        ),
    )


def _cost() -> Alert:
    limit = configured(probe.TARGET_COST_LIMIT, ("target", "currency"))
    return Alert(
        "CostPerMillionTokensHigh",
        expr=f"{names.COST_PER_MTOK_OUTPUT}\n> on (target, currency)\n{limit}",
        wait="15m",
        severity="ticket",
        family="cost",
        summary="Tokens of {{ $labels.target }} cost more than intended",
        description=(
            "A million output tokens of {{ $labels.target }} cost {{ $value | printf `%.2f` }} {{ $labels.currency }} "
            "over the last hour; its limit is "
            + looked_up(
                f"max(last_over_time({probe.TARGET_COST_LIMIT}{{target='%s', currency='%s'}}[15m]))",
                "target",
                "currency",
                shown="value . | printf `%.2f`",
            )
            + ". Likely: too little traffic for the hardware that is paid for, or slower generation than before."
        ),
    )


def alerts() -> list[Alert]:
    """Return the alerts on GPUs and on money."""
    return [_throttling(), _regression(), _cost()]

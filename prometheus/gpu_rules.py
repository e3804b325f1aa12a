"""`gpu:*`: what the GPU exporters say, one series per GPU however many exporters see it."""

from exporters.gpu import metrics as gpu
from exporters.probe import metrics as probe
from prometheus import vocabulary as names
from prometheus.groups import Group, group, record
from prometheus.promql import aggregate, configured, rate, selector

CARD = ("node", "gpu", "uuid")
PLACE = ("node", "gpu")


def groups() -> list[Group]:
    """Return the group of the GPUs and of the targets that they serve."""
    used = f"{gpu.MEMORY_USED} / ({gpu.MEMORY_TOTAL} > 0)"
    driver, sampler = (
        aggregate("max", (*CARD, "reason"), rate(counter))
        for counter in (gpu.CLOCKS_EVENT_SECONDS, gpu.CLOCKS_EVENT_SAMPLED_SECONDS)
    )
    harmful = selector(names.GPU_THROTTLE_BY_REASON, reason="=~" + "|".join(gpu.HARMFUL_REASONS))
    serves = configured(probe.TARGET_GPU_INFO, ("target", *PLACE))
    per_card = aggregate("max", PLACE, names.GPU_THROTTLED)
    rules = [
        record(names.GPU_UTILIZATION, aggregate("max", CARD, str(gpu.UTILIZATION))),
        record(names.GPU_MEMORY_USED, aggregate("max", CARD, used)),
        # The driver's counter or, for a reason that it does not count on this GPU, the sampler's; never their sum.
        # Extrapolation can carry a rate a little over 1.
        record(names.GPU_THROTTLE_BY_REASON, f"clamp_max(\n  {driver}\n  or\n  {sampler},\n  1\n)"),
        record(names.GPU_THROTTLED, aggregate("max", CARD, harmful)),
        # The slowest GPU sets the pace of a target that spans several.
        record(
            names.TARGET_GPU_THROTTLED,
            aggregate("max", ("target",), f"{serves}\n* on (node, gpu) group_left ()\n{per_card}"),
        ),
    ]
    return [group("gpu", rules)]

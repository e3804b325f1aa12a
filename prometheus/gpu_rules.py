"""`gpu:*`: one series per GPU, from our exporter or, for a GPU that ours does not report, from somebody else's."""

from exporters.gpu import metrics as gpu
from exporters.probe import metrics as probe
from prometheus import gpu_exporters as others
from prometheus import vocabulary as names
from prometheus.groups import SLOW, Group, Rule, group, record
from prometheus.promql import aggregate, block, configured, indent, rate, selector

CARD = others.CARD
PLACE = ("node", "gpu")
# Some thirty series of each GPU are read, which is most of what a fleet's rules cost, and no page rests on them.
INTERVAL = "30s"
# Two evaluations of their group.
XIDS_LAST = "2m"


def groups() -> list[Group]:
    """Return the group of what holds on GPUs now, and the group of what their counters say."""
    used = f"{gpu.MEMORY_USED} / ({gpu.MEMORY_TOTAL} > 0)"
    now = [
        record(names.GPU_UTILIZATION, _first(aggregate("max", CARD, str(gpu.UTILIZATION)), others.utilization())),
        record(names.GPU_MEMORY_USED, _first(aggregate("max", CARD, used), others.memory_used())),
        record(names.GPU_TEMPERATURE, _first(aggregate("max", CARD, str(gpu.TEMPERATURE)), others.temperature())),
        record(names.GPU_POWER, _first(aggregate("max", CARD, str(gpu.POWER_USAGE)), others.power())),
    ]
    # Almost all XID counters of a fleet are 0, and a look back over an hour need not read those. One scrape is enough:
    # a node may be gone after an XID.
    counted = f"last_over_time({gpu.XID_ERRORS}[{XIDS_LAST}]) > 0"
    xids = record(names.GPU_XID_ERRORS, aggregate("max", (*CARD, "xid", "source"), counted))
    return [group("gpu", now, INTERVAL), group("gpu-counted", [xids, *_throttling()], SLOW)]


def _throttling() -> list[Rule]:
    counters = (gpu.CLOCKS_EVENT_SECONDS, gpu.CLOCKS_EVENT_SAMPLED_SECONDS)
    driver, sampler = (rate(counter, reason="!=gpu_idle") for counter in counters)
    # The driver's counter or, for a reason that it does not count on this GPU, the sampler's; never their sum.
    each = (*CARD, "reason")
    own = aggregate("max", each, f"{driver}\nor on ({', '.join(each)})\n{sampler}")
    harmful = selector(names.GPU_THROTTLE_BY_REASON, reason="=~" + "|".join(gpu.HARMFUL_REASONS))
    serves = configured(probe.TARGET_GPU_INFO, ("target", *PLACE))
    per_card = aggregate("max", PLACE, names.GPU_THROTTLED)
    return [
        # Extrapolation can carry a rate a little over 1.
        record(names.GPU_THROTTLE_BY_REASON, f"clamp_max(\n{indent(_first(own, others.throttling()))},\n  1\n)"),
        record(names.GPU_THROTTLED, aggregate("max", CARD, harmful)),
        # The slowest GPU sets the pace of a target that spans several.
        record(
            names.TARGET_GPU_THROTTLED,
            aggregate("max", ("target",), f"{serves}\n* on (node, gpu) group_left ()\n{per_card}"),
        ),
    ]


def _first(ours: str, theirs: list[str]) -> str:
    """Return ours and, for each uuid that it lacks, the next that has it: a GPU that two exporters see counts once.

    Grouped from the right, so that ours, which a fleet has many of, are matched once.
    """
    first, *rest = theirs
    return f"{ours}\nor on (uuid)\n" + (block(_first(first, rest)) if rest else first)

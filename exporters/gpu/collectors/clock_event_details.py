"""Which reasons the GPU can report, and for how long its policies kept the clocks down (NVML_FI_DEV_PERF_POLICY_*)."""

from exporters.gpu import metrics, reasons
from exporters.gpu.collection import Collection
from exporters.gpu.collectors.clock_event_counters import NANOSECOND, uptime

# What is told of power, heat and sync boost is among the reasons (gpu_clocks_event_seconds_total).
POLICIES = {
    "board_limit": 77,
    "low_utilization": 78,
    "reliability": 79,
    "total_app_clocks": 80,
    "total_base_clocks": 81,
}


def collect(gpu: Collection) -> None:
    """Collect 0 or 1 for each reason that is known, and the policies' counters in seconds."""
    supported = gpu.ask(gpu.device.supported_clocks_event_reasons)
    if supported is not None:
        for name, bit in reasons.BITS.items():
            gpu.add(metrics.CLOCKS_EVENT_SUPPORTED, float(bool(supported & bit)), name)
    counted = gpu.ask(lambda: gpu.device.counters(tuple(POLICIES.values()))) or {}
    longest = uptime()
    for policy, field in POLICIES.items():
        if field in counted:
            gpu.add(metrics.POLICY_VIOLATION_SECONDS, counted[field] * NANOSECOND, policy, at_most=longest)

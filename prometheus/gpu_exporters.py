"""What other people's GPU exporters call the things that we record, as PromQL in our labels and units.

Names and units: dcgm-exporter 4 (etc/default-counters.csv, and dcgm_fields.h for the fields that end in _NS), and
nvidia_gpu_exporter 1 (docs/METRICS.md). Every expression yields (node, gpu, uuid), and `reason` where it has one.
"""

from prometheus.promql import RATE_WINDOW, aggregate, indent, rate

CARD = ("node", "gpu", "uuid")

# dcgm-exporter: percent, MiB, and nanoseconds of throttling that are counted only where its list of fields names them.
DCGM_UTILIZATION = "DCGM_FI_DEV_GPU_UTIL"
DCGM_TEMPERATURE = "DCGM_FI_DEV_GPU_TEMP"
DCGM_POWER = "DCGM_FI_DEV_POWER_USAGE"
DCGM_USED, DCGM_FREE, DCGM_RESERVED = "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED"
DCGM_REASONS = {
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS": "sw_power_cap",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS": "sync_boost",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS": "sw_thermal_slowdown",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS": "hw_thermal_slowdown",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS": "hw_power_brake_slowdown",
}

# nvidia_gpu_exporter: base units; its uuid lacks the prefix GPU-, and the index is a value.
SMI_INDEX = "nvidia_smi_index"
SMI_UTILIZATION = "nvidia_smi_utilization_gpu_ratio"
SMI_TEMPERATURE = "nvidia_smi_temperature_gpu"
SMI_POWER = "nvidia_smi_power_draw_watts"
SMI_USED, SMI_TOTAL = "nvidia_smi_memory_used_bytes", "nvidia_smi_memory_total_bytes"
# The flags and not its seconds: with NVML those are too large by a factor of 1000.
SMI_REASONS = {
    f"nvidia_smi_clocks_event_reasons_{reason}": reason
    for reason in (
        "sw_power_cap", "sync_boost", "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown",
        "hw_power_brake_slowdown",
    )
}  # fmt: skip


def utilization() -> list[str]:
    """Return the ratio from dcgm-exporter and from nvidia_gpu_exporter."""
    return [_dcgm(f"{DCGM_UTILIZATION} / 100"), _smi(SMI_UTILIZATION)]


def memory_used() -> list[str]:
    """Return used / total, the reserved memory being part of the total as it is in ours."""
    # Its list of fields has the reserved memory only since 4.1.
    total = f"{DCGM_USED} + {DCGM_FREE} + ({DCGM_RESERVED} or 0 * {DCGM_USED}) > 0"
    return [f"{_dcgm_memory(DCGM_USED)}\n/\n{_dcgm_memory(total)}", _smi(f"{SMI_USED} / ({SMI_TOTAL} > 0)")]


def temperature() -> list[str]:
    """Return degrees Celsius."""
    return [_dcgm(DCGM_TEMPERATURE), _smi(SMI_TEMPERATURE)]


def power() -> list[str]:
    """Return watts."""
    return [_dcgm(DCGM_POWER), _smi(SMI_POWER)]


def throttling() -> list[str]:
    """Return the share of the last five minutes in which each reason held the clocks down.

    dcgm-exporter counts the time; nvidia_gpu_exporter shows the moment, so the share of its samples stands for it.
    """
    dcgm = _by_reason({f"{rate(field)} / 1e9": reason for field, reason in DCGM_REASONS.items()})
    smi = _by_reason({f"avg_over_time({flag}[{RATE_WINDOW}])": reason for flag, reason in SMI_REASONS.items()})
    return [_dcgm(dcgm, (*CARD, "reason")), _smi(smi, (*CARD, "reason"))]


def _by_reason(reasons: dict[str, str]) -> str:
    return "\nor\n".join(f'label_replace({expr}, "reason", "{reason}", "", "")' for expr, reason in reasons.items())


def _dcgm(expr: str, labels: tuple[str, ...] = CARD) -> str:
    """Return an expression of dcgm-exporter's fields in our labels; where scraping sets no node, its host is one."""
    joined = f'label_join({_lines(expr)}, "host", ";", "node", "Hostname", "hostname")'
    placed = f'label_replace({_lines(joined)}, "node", "$1", "host", ";*([^;]+).*")'
    return aggregate("max", labels, f'label_replace({_lines(placed)}, "uuid", "$1", "UUID", "(.+)")')


def _dcgm_memory(expr: str) -> str:
    """Return MiB of a card; with MIG it has a series for each instance, and in Kubernetes one for each pod on it."""
    return aggregate("sum", CARD, _dcgm(expr, (*CARD, "GPU_I_ID")))


def _smi(expr: str, labels: tuple[str, ...] = CARD) -> str:
    index = f'group by (instance, uuid, gpu) (count_values by (instance, uuid) ("gpu", {SMI_INDEX}))'
    numbered = f"({_lines(expr)})\n* on (instance, uuid) group_left (gpu)\n{index}"
    return aggregate("max", labels, f'label_replace({_lines(numbered)}, "uuid", "GPU-$1", "uuid", "(?:GPU-)?(.+)")')


def _lines(expr: str) -> str:
    """Return an expression of several lines so that it can stand between parentheses."""
    return f"\n{indent(expr)}\n" if "\n" in expr else expr

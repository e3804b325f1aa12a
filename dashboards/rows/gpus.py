"""GPUs: is the hardware busy, full, hot or held back?"""

from grafanalib import core

from dashboards import expressions as expr
from dashboards.layout import Item, Section
from dashboards.panels import Query, timeseries
from prometheus import vocabulary as names

EMPTY = "no GPU exporter answers"
LEGEND = "{{node}} GPU {{gpu}}{{simulated}}"


def section() -> Section:
    """Return the row."""
    narrow = (_utilization(), _memory(), _temperature(), _throttled())
    items = (*(Item(panel, width=6, height=8) for panel in narrow), Item(_reasons(), width=24, height=7))
    return Section("GPUs", items)


def _utilization() -> core.TimeSeries:
    return timeseries(
        "GPU utilisation",
        "The share of time in which any kernel ran. 100 % does not mean that the GPU is full: one small kernel counts "
        "as much as a large one. Near 0 % while requests run means that they wait for something else. "
        "Source: GPU exporter.",
        "percentunit",
        [Query(expr.per_gpu(names.GPU_UTILIZATION), LEGEND)],
        empty=EMPTY,
        ceiling=1,
    )


def _memory() -> core.TimeSeries:
    return timeseries(
        "GPU memory used",
        "The allocated share of each GPU's memory. Engines such as vLLM take nearly all of it at start, so a flat line "
        "near 90 % is usual; see the KV cache for what is used inside. Source: GPU exporter.",
        "percentunit",
        [Query(expr.per_gpu(names.GPU_MEMORY_USED), LEGEND)],
        empty=EMPTY,
        ceiling=1,
    )


def _temperature() -> core.TimeSeries:
    return timeseries(
        "GPU temperature",
        "The temperature of each die. One GPU far above its neighbours has an airflow problem; when clocks are held "
        "down for heat, the panel below says so. Source: GPU exporter.",
        "celsius",
        [Query(expr.per_gpu(names.GPU_TEMPERATURE), LEGEND)],
        empty=EMPTY,
    )


def _throttled() -> core.TimeSeries:
    return timeseries(
        "GPU throttled",
        "The share of the last 5 minutes in which heat, power brake or hardware protection held the clocks down. "
        "0 % is healthy. Running at the power limit is normal and does not count. Source: GPU exporter.",
        "percentunit",
        [Query(expr.per_gpu(names.GPU_THROTTLED), LEGEND)],
        empty=EMPTY,
        ceiling=1,
        runbook="GPUThrottling",
    )


def _reasons() -> core.TimeSeries:
    worst = f'max by (node, reason) ({names.GPU_THROTTLE_BY_REASON}{{{expr.NODE}, reason!="gpu_idle"}})'
    return timeseries(
        "Why clocks are held down",
        "For each reason, the share of the last 5 minutes on the node's most affected GPU. sw_power_cap is the power "
        "limit and normal under load; *_thermal_slowdown is heat; hw_power_brake_slowdown comes from the power supply; "
        "hw_slowdown is any of the hardware's own. Source: GPU exporter.",
        "percentunit",
        [Query(worst, "{{node}} {{reason}}")],
        empty=EMPTY,
        ceiling=1,
        runbook="GPUThrottling",
    )

"""How much power the board draws, and how much it may draw."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

MILLIWATT = 1e-3
HIGHEST_WATTS = 20_000


def collect(gpu: Collection) -> None:
    """Collect the usage and the limits that are in force."""
    for metric, read in (
        (metrics.POWER_USAGE, gpu.device.power_usage),
        (metrics.POWER_LIMIT, gpu.device.power_limit),
        (metrics.POWER_LIMIT_ENFORCED, gpu.device.enforced_power_limit),
    ):
        gpu.add_scaled(metric, read, MILLIWATT, at_most=HIGHEST_WATTS)


def collect_details(gpu: Collection) -> None:
    """Collect the power at this instant, of a module of GPU and CPU and of the memory, and what the limits could be."""
    for metric, read in (
        (metrics.POWER_INSTANT, partial(gpu.device.reading, "instant_milliwatts")),
        (metrics.POWER_LIMIT_DEFAULT, partial(gpu.device.reading, "default_limit_milliwatts")),
        (metrics.POWER_LIMIT_MIN, partial(gpu.device.reading, "lowest_limit_milliwatts")),
        (metrics.POWER_LIMIT_MAX, partial(gpu.device.reading, "highest_limit_milliwatts")),
        (metrics.MODULE_POWER, partial(gpu.device.reading, "module_milliwatts")),
        (metrics.MEMORY_POWER, partial(gpu.device.reading, "memory_milliwatts")),
    ):
        gpu.add_scaled(metric, read, MILLIWATT, at_most=HIGHEST_WATTS)

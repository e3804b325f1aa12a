"""How much power the board draws, and how much it may draw."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

MILLIWATT = 1e-3
HIGHEST_WATTS = 20_000


def collect(gpu: Collection) -> None:
    """Collect the usage and the limits."""
    for metric, read in (
        (metrics.POWER_USAGE, gpu.device.power_usage),
        (metrics.POWER_LIMIT, gpu.device.power_limit),
        (metrics.POWER_LIMIT_ENFORCED, gpu.device.enforced_power_limit),
    ):
        gpu.add_scaled(metric, read, MILLIWATT, at_most=HIGHEST_WATTS)

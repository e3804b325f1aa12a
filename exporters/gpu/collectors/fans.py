"""How fast the fans should turn; it is what the driver orders, not what it measures."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

PERCENT = 0.01
# NVML says that the order may exceed 100 percent.
FASTEST = 2


def collect(gpu: Collection) -> None:
    """Collect the speed of each fan."""
    for fan, percent in enumerate(gpu.ask(gpu.device.fan_speeds, "fans") or []):
        gpu.add(metrics.FAN_SPEED, percent * PERCENT, str(fan), at_most=FASTEST)

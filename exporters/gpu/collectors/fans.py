"""The fans: how fast they should turn, which is what the driver orders, and how fast they turn."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

PERCENT = 0.01
# NVML says that the order may exceed 100 percent.
FASTEST = 2
FASTEST_RPM = 100_000


def collect(gpu: Collection) -> None:
    """Collect the ordered and the measured speed of each fan."""
    for fan, percent in enumerate(gpu.ask(gpu.device.fan_speeds, "fans") or []):
        gpu.add(metrics.FAN_SPEED, percent * PERCENT, str(fan), at_most=FASTEST)
    for fan, rpm in enumerate(gpu.ask(gpu.device.fan_rpms) or []):
        gpu.add(metrics.FAN_RPM, rpm, str(fan), at_most=FASTEST_RPM)

"""The window through which the host reaches the GPU's memory."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.collectors.memory import LARGEST_BYTES


def collect(gpu: Collection) -> None:
    """Collect its size and how much of it is in use."""
    gpu.add_scaled(metrics.BAR1_TOTAL, partial(gpu.device.reading, "bar1_total_bytes"), 1, at_most=LARGEST_BYTES)
    gpu.add_scaled(metrics.BAR1_USED, partial(gpu.device.reading, "bar1_used_bytes"), 1, at_most=LARGEST_BYTES)

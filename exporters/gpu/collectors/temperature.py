"""How hot the GPU and its memory are, and how much is left until it slows down."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

COLDEST, HOTTEST = -50, 200
# A sensor of the memory that is not there reads 0 on some boards.
COLDEST_MEMORY = 1


def collect(gpu: Collection) -> None:
    """Collect the temperatures and the margin."""
    gpu.add_scaled(metrics.TEMPERATURE, gpu.device.temperature, 1, at_least=COLDEST, at_most=HOTTEST)
    gpu.add_scaled(
        metrics.MEMORY_TEMPERATURE,
        partial(gpu.device.reading, "memory_celsius"),
        1,
        at_least=COLDEST_MEMORY,
        at_most=HOTTEST,
    )
    gpu.add_scaled(
        metrics.TEMPERATURE_MARGIN,
        partial(gpu.device.reading, "margin_celsius"),
        1,
        at_least=-HOTTEST,
        at_most=HOTTEST,
        feature="temperature_margin",
    )

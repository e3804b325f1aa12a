"""At which temperatures the GPU slows down or shuts down. They never change."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.collectors.temperature import HOTTEST
from exporters.gpu.questions import Reading

ABSOLUTE: dict[str, Reading] = {
    "shutdown": "shutdown_celsius",
    "slowdown": "slowdown_celsius",
    "memory_max": "memory_max_celsius",
    "gpu_max": "gpu_max_celsius",
}
RELATIVE: dict[str, Reading] = {
    "shutdown": "shutdown_tlimit_celsius",
    "slowdown": "slowdown_tlimit_celsius",
    "memory_max": "memory_max_tlimit_celsius",
    "gpu_max": "gpu_max_tlimit_celsius",
}


def collect(gpu: Collection) -> None:
    """Collect the thresholds, in degrees and relative to the margin."""
    for name, reading in ABSOLUTE.items():
        read = partial(gpu.device.reading, reading)
        gpu.add_scaled(metrics.TEMPERATURE_THRESHOLD, read, 1, name, at_least=1, at_most=HOTTEST)
    for name, reading in RELATIVE.items():
        read = partial(gpu.device.reading, reading)
        gpu.add_scaled(metrics.TEMPERATURE_TLIMIT, read, 1, name, at_least=-HOTTEST, at_most=HOTTEST)

"""How hot the GPU is."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection


def collect(gpu: Collection) -> None:
    """Collect the temperature of the die."""
    celsius = gpu.ask(gpu.device.temperature)
    if celsius is not None:
        gpu.add(metrics.TEMPERATURE, celsius, at_least=-50, at_most=200)

"""How busy the GPU is. On a GPU in MIG mode the driver does not say, and then neither do we."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection


def collect(gpu: Collection) -> None:
    """Collect the utilisation of the GPU and of its memory bus, from percent."""
    rates = gpu.ask(gpu.device.utilization, "utilization")
    if rates is not None:
        gpu.add(metrics.UTILIZATION, rates.gpu / 100, at_most=1)
        gpu.add(metrics.MEMORY_COPY_UTILIZATION, rates.memory / 100, at_most=1)

"""Whether what the board knows of itself is intact. It lies in slow flash memory, so it is read once, never polled."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection


def collect(gpu: Collection) -> None:
    """Collect what the one look found."""
    valid = gpu.ask(gpu.device.inforom_valid, "inforom")
    if valid is not None:
        gpu.add(metrics.INFOROM_VALID, float(valid))

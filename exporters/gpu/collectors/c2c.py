"""The links between the GPU and the CPU of its module."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection


def collect(gpu: Collection) -> None:
    """Collect how many there are and how many are active."""
    links = gpu.ask(gpu.device.c2c, "c2c")
    if links is not None:
        gpu.add(metrics.C2C_LINKS, links.links)
        gpu.add(metrics.C2C_LINKS_ACTIVE, links.active, at_most=links.links)

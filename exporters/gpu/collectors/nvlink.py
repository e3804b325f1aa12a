"""All NVLinks of the GPU together: how many are up, how much went over them, and what went wrong."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

MOST_LINKS = 64
MOST_BYTES = 2**63
MOST_ERRORS = 2**60


def collect(gpu: Collection) -> None:
    """Collect the links, the bytes and the errors."""
    links = gpu.ask(gpu.device.nvlink, "nvlink")
    if links is None:
        return
    gpu.add(metrics.NVLINK_LINKS, links.links, at_most=MOST_LINKS)
    gpu.add(metrics.NVLINK_LINKS_UP, links.up, at_most=links.links)
    if links.transmitted is not None:
        gpu.add(metrics.NVLINK_TRANSMITTED, links.transmitted, at_most=MOST_BYTES)
    if links.received is not None:
        gpu.add(metrics.NVLINK_RECEIVED, links.received, at_most=MOST_BYTES)
    for kind, count in links.errors.items():
        gpu.add(metrics.NVLINK_ERRORS, count, kind, at_most=MOST_ERRORS)

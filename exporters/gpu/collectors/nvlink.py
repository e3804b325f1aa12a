"""NVLinks: how many are up, how much went over them, and what went wrong; all together, or one by one."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

MOST_LINKS = 64
MOST_BYTES = 2**63
MOST_ERRORS = 2**60
MEGABYTE = 1e6
HIGHEST_BYTES_PER_SECOND = 1e13


def collect(gpu: Collection) -> None:
    """Collect all links together."""
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


def collect_links(gpu: Collection) -> None:
    """Collect each link, to find the one that fails."""
    for number, link in enumerate(gpu.ask(gpu.device.links, "nvlink") or []):
        gpu.add(metrics.NVLINK_UP, float(link.up), str(number))
        if link.speed is not None:
            speed = link.speed * MEGABYTE
            gpu.add(metrics.NVLINK_SPEED, speed, str(number), at_most=HIGHEST_BYTES_PER_SECOND)
        for kind, count in link.errors.items():
            gpu.add(metrics.NVLINK_LINK_ERRORS, count, str(number), kind, at_most=MOST_ERRORS)

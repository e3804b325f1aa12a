"""How fast the GPU's clocks run, and how fast they could."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.questions import ClockDomain

MEGAHERTZ = 1e6
HIGHEST_HERTZ = 100e9


def collect(gpu: Collection) -> None:
    """Collect the current and the highest clock of the multiprocessors and of the memory."""
    _add(gpu, "sm", "memory")


def collect_more(gpu: Collection) -> None:
    """Collect those of graphics, which follows the multiprocessors, and of video."""
    _add(gpu, "graphics", "video")


def _add(gpu: Collection, *domains: ClockDomain) -> None:
    for domain in domains:
        for metric, read in ((metrics.CLOCK, gpu.device.clock), (metrics.CLOCK_MAX, gpu.device.max_clock)):
            gpu.add_scaled(metric, partial(read, domain), MEGAHERTZ, domain, at_most=HIGHEST_HERTZ)

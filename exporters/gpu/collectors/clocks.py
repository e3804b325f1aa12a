"""How fast the GPU's clocks run, and how fast they could."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.driver import CLOCK_DOMAINS

MEGAHERTZ = 1e6
HIGHEST_HERTZ = 100e9


def collect(gpu: Collection) -> None:
    """Collect the current and the highest clock of each domain."""
    for domain in CLOCK_DOMAINS:
        for metric, read in ((metrics.CLOCK, gpu.device.clock), (metrics.CLOCK_MAX, gpu.device.max_clock)):
            gpu.add_scaled(metric, partial(read, domain), MEGAHERTZ, domain, at_most=HIGHEST_HERTZ)

"""How fast the GPU's clocks run, and how fast they could."""

from collections.abc import Callable
from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.questions import ClockDomain
from inferwatch.metric import Metric

MEGAHERTZ = 1e6
HIGHEST_HERTZ = 100e9


def collect(gpu: Collection) -> None:
    """Collect the current clocks of the multiprocessors and of the memory, and the highest of the former."""
    _add(gpu, metrics.CLOCK, gpu.device.clock, "sm", "memory")
    _add(gpu, metrics.CLOCK_MAX, gpu.device.max_clock, "sm")


def collect_more(gpu: Collection) -> None:
    """Collect those of graphics, which follows the multiprocessors, and of video, and the other limits."""
    _add(gpu, metrics.CLOCK, gpu.device.clock, "graphics", "video")
    _add(gpu, metrics.CLOCK_MAX, gpu.device.max_clock, "memory", "graphics", "video")
    boost = partial(gpu.device.reading, "customer_boost_megahertz")
    gpu.add_scaled(metrics.CLOCK_CUSTOMER_BOOST_MAX, boost, MEGAHERTZ, at_least=1, at_most=HIGHEST_HERTZ)


def _add(gpu: Collection, metric: Metric, read: Callable[[ClockDomain], int], *domains: ClockDomain) -> None:
    for domain in domains:
        gpu.add_scaled(metric, partial(read, domain), MEGAHERTZ, domain, at_most=HIGHEST_HERTZ)

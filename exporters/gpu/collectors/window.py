"""The highest and the mean value of a trailing window, from the samples that the driver takes itself.

The driver samples several times a second into a ring buffer, so that a burst between two scrapes is seen. The window
trails: a scrape does not reset it, and two Prometheus servers see the same.
"""

import time
from collections import deque
from collections.abc import Callable
from functools import partial

from exporters.gpu import metrics
from exporters.gpu.answers import Observed
from exporters.gpu.collection import Collect, Collection
from exporters.gpu.collectors.power import HIGHEST_WATTS, MILLIWATT
from exporters.gpu.questions import SampleKind

SECOND = 1_000_000
NEVER = -1e9


class Window:
    """The samples of one GPU that are at most so many seconds older than the newest."""

    def __init__(self, seconds: float) -> None:
        self._length = seconds * SECOND
        self._samples: deque[Observed] = deque()

    @property
    def newest(self) -> int:
        """When the newest sample was taken, in microseconds; 0 when there is none."""
        return self._samples[-1].microseconds if self._samples else 0

    @property
    def values(self) -> list[int]:
        """The samples' values."""
        return [sample.value for sample in self._samples]

    def add(self, samples: list[Observed]) -> None:
        """Add samples and drop those that are too old; what is no newer than the newest was there before."""
        for sample in sorted(samples, key=lambda one: one.microseconds):
            if sample.microseconds > self.newest:
                self._samples.append(sample)
        while self._samples and self._samples[0].microseconds <= self.newest - self._length:
            self._samples.popleft()

    def clear(self) -> None:
        """Drop every sample."""
        self._samples.clear()


class Windows:
    """The window of one kind of sample for each GPU.

    Args:
        kind: What is sampled.
        seconds: How long the window is.
        highest: A sample above it cannot be.
        clock: Monotonic.
    """

    def __init__(
        self, kind: SampleKind, seconds: float, highest: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._kind = kind
        self._seconds = seconds
        self._highest = highest
        self._clock = clock
        self._windows: dict[str, tuple[Window, float]] = {}

    def values(self, gpu: Collection) -> list[int]:
        """Return what was sampled in the window, or nothing where the driver does not sample."""
        window, heard = self._windows.get(gpu.device.uuid, (Window(self._seconds), NEVER))
        since, now = window.newest, self._clock()
        if now - heard > self._seconds:
            # Nothing new for a whole window: what is there is old, and the driver's clock may have been set.
            window.clear()
            since = 0
        samples = gpu.ask(partial(gpu.device.samples, self._kind, since))
        if samples is None:
            self._windows.pop(gpu.device.uuid, None)
            return []
        window.add([sample for sample in samples if 0 <= sample.value <= self._highest])
        if window.newest > since:
            heard = now
        self._windows[gpu.device.uuid] = window, heard
        for _ in range(sum(not 0 <= sample.value <= self._highest for sample in samples)):
            gpu.reject(f"{self._kind} sample")
        return window.values


def utilization(seconds: float) -> Collect:
    """Return the collector of the highest and the mean utilisation."""
    windows = Windows("utilization_percent", seconds, 100)

    def collect(gpu: Collection) -> None:
        values = windows.values(gpu)
        if values:
            gpu.add(metrics.UTILIZATION_MAX, max(values) / 100, at_most=1)
            gpu.add(metrics.UTILIZATION_AVG, sum(values) / len(values) / 100, at_most=1)

    return collect


def power(seconds: float) -> Collect:
    """Return the collector of the highest power."""
    windows = Windows("power_milliwatts", seconds, HIGHEST_WATTS / MILLIWATT)

    def collect(gpu: Collection) -> None:
        values = windows.values(gpu)
        if values:
            gpu.add(metrics.POWER_MAX, max(values) * MILLIWATT, at_most=HIGHEST_WATTS)

    return collect

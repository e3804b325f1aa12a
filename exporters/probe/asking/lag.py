"""How late this process wakes: a thread sleeps for 5 ms again and again, and what it oversleeps is the lag.

A busy machine, a long scrape or another thread that holds the interpreter delays what a probe stamps itself in the same
way: when it sent and, where the kernel does not tell, when a token came. A probe that stamped in such a moment measured
this process and not the server.
"""

import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection
from itertools import islice, takewhile
from operator import itemgetter

from exporters.probe import metrics
from exporters.probe.metrics.histogram import Histogram
from inferwatch.config.model import Prober

STEP_SECONDS = 0.005
# Shorter moments are not remembered; they are counted in the histogram.
NOTABLE_SECONDS = 0.005
# A moment counts if it is longer than `prober.max_lag`, and than this share of TTFT: the buckets cannot tell less.
TOLERATED_SHARE = 0.1
# Remembered moments; at the least 5 ms each, 8192 of them are 40 s of nothing else.
_REMEMBERED = 8192


class LagMonitor:
    """Measures the lag of this process in a thread of its own.

    Attributes:
        tolerated_seconds: How long a probe may be held up at one of its stamps; `prober.max_lag`.

    Args:
        clock: Returns the seconds that probes are stamped with.
        sleep: Waits for some seconds.
    """

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.tolerated_seconds = Prober().max_lag
        self._clock = clock
        self._sleep = sleep
        self._histogram = Histogram.empty(metrics.LAG.buckets)
        self._moments: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)
        self._due: float | None = None
        self._running = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to measure, if that has not begun."""
        if not self._running:
            self._running = True
            self._thread = threading.Thread(target=self._run, name="probe-lag", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Measure no more; the thread has ended then, so that it may be started again."""
        self._running = False
        if self._thread is not None:
            self._thread.join()

    def beat(self) -> None:
        """Sleep once, and note by how much it was too long."""
        self._due = due = self._clock() + STEP_SECONDS
        self._sleep(STEP_SECONDS)
        woke = self._clock()
        self._histogram.observe(max(woke - due, 0.0))
        if woke - due >= NOTABLE_SECONDS:
            self._moments.append((due, woke))
        self._due = None

    def histogram(self) -> Histogram | None:
        """Return a copy of what was measured; None while nothing was."""
        counts = list(self._histogram.counts)
        return Histogram(self._histogram.bounds, counts, self._histogram.total) if any(counts) else None

    def held_up(self, at: float) -> float:
        """Return for how long this process was held up when it took a stamp; 0 if it was not, or nothing measures."""
        moments = list(self._moments)
        # One that still lasts has not been noted.
        due = self._due
        if due is not None:
            moments.append((due, self._clock()))
        # They lie one behind the other, so those around the stamp are found without looking at all.
        first = bisect_left(moments, at - STEP_SECONDS, key=itemgetter(1))
        around = takewhile(lambda moment: moment[0] - STEP_SECONDS <= at, islice(moments, first, None))
        return max((woke - due for due, woke in around if woke - due >= NOTABLE_SECONDS), default=0.0)

    def _run(self) -> None:
        while self._running:
            self.beat()


# One for the process, as the interpreter is; `held_up` is 0 until it is started.
MONITOR = LagMonitor()


def tainted(monitor: LagMonitor, stamps: Collection[float], first_token_seconds: float | None) -> str | None:
    """Return a sentence if this process was held up at one of a probe's stamps for too long to trust it.

    Args:
        monitor: What measured the lag.
        stamps: Those of timeline.stamps_taken_late.
        first_token_seconds: TTFT, or E2E where that is undefined.
    """
    worst = max(monitor.held_up(at) for at in stamps)
    if worst <= max(monitor.tolerated_seconds, TOLERATED_SHARE * (first_token_seconds or 0.0)):
        return None
    return f"this prober was held up for {worst * 1e3:.0f} ms, so the times are not the server's; give it more CPU"

"""XIDs counted once, although two sources may tell of the same one, and the driver's other events."""

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from typing import Literal, NamedTuple

from exporters.gpu.questions import Happening
from exporters.gpu.xid import catalogue

Source = Literal["nvml", "kmsg", "simulated"]
# The two sources tell of one XID within milliseconds; on a machine in trouble it may take longer.
SAME_WITHIN_SECONDS = 5.0


class Key(NamedTuple):
    """One series: which GPU, which XID, and who told of it."""

    uuid: str
    xid: int
    source: Source


class Incidents:
    """Counts XIDs; safe to use from several threads.

    What NVML tells is counted at once. A line of the kernel's log waits until NVML has had its time to tell of the same
    XID on the same GPU: each event of NVML answers for one line, whichever came first.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        self._wall_clock = wall_clock
        self._last: dict[tuple[str, int], float] = {}
        self._events: Counter[tuple[str, Happening]] = Counter()
        self._counts: Counter[Key] = Counter()
        self._told: defaultdict[tuple[str, int], deque[float]] = defaultdict(deque)
        self._waiting: defaultdict[tuple[str, int], deque[float]] = defaultdict(deque)
        self._lock = threading.Lock()

    def from_driver(self, uuid: str, xid: int, source: Source = "nvml") -> None:
        """Count an XID that the driver reported."""
        with self._lock:
            now = self._settle()
            self._counts[Key(uuid, xid, source)] += 1
            self._last[uuid, xid] = self._wall_clock()
            if self._waiting[uuid, xid]:
                self._waiting[uuid, xid].popleft()
            else:
                self._told[uuid, xid].append(now)

    def from_log(self, uuid: str, xid: int) -> None:
        """Count an XID from the kernel's log, unless NVML tells of it too."""
        with self._lock:
            now = self._settle()
            self._last[uuid, xid] = self._wall_clock()
            if self._told[uuid, xid]:
                self._told[uuid, xid].popleft()
            else:
                self._waiting[uuid, xid].append(now)

    def counts(self) -> dict[Key, int]:
        """Return how often each was seen."""
        with self._lock:
            self._settle()
            return dict(self._counts)

    def last(self, uuid: str) -> dict[int, float]:
        """Return when this GPU last reported each XID that it did report, as Unix time."""
        with self._lock:
            return {xid: at for (of, xid), at in sorted(self._last.items()) if of == uuid}

    def happened(self, uuid: str, what: Happening) -> None:
        """Count another event that the driver reported."""
        with self._lock:
            self._events[uuid, what] += 1

    def events(self, uuid: str) -> dict[Happening, int]:
        """Return how often each of the other events happened on this GPU."""
        with self._lock:
            return {what: count for (of, what), count in sorted(self._events.items()) if of == uuid}

    def _settle(self) -> float:
        """Count the lines that NVML did not answer for in time, and return the time."""
        now = self._clock()
        for times in self._told.values():
            while times and now - times[0] > SAME_WITHIN_SECONDS:
                times.popleft()
        for (uuid, xid), times in self._waiting.items():
            while times and now - times[0] > SAME_WITHIN_SECONDS:
                times.popleft()
                self._counts[Key(uuid, xid, "kmsg")] += 1
        return now


def precreated(uuid: str, sources: dict[Source, bool]) -> list[Key]:
    """Return the series of a GPU that exist before anything happened, for the sources that are live."""
    keys: list[Key] = []
    driver: list[Source] = [source for source in ("simulated", "nvml") if sources.get(source)]
    for source in driver[:1]:
        keys += [Key(uuid, xid, source) for xid in catalogue.IMPORTANT]
    if sources.get("kmsg"):
        numbers = {*catalogue.OFTEN_ONLY_IN_LOG, *(() if driver else catalogue.IMPORTANT)}
        keys += [Key(uuid, xid, "kmsg") for xid in sorted(numbers)]
    return keys

"""Tells in the log that probes are due and cannot start, without a line for each."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable

from exporters.probe.key import Key

log = logging.getLogger(__name__)

# The series count each; a line must be seen once, and again while it goes on.
QUIET_SECONDS = 300.0
_CAUSES = {
    "overlap": "the one before still runs, or waits for a thread: give scenarios that take long a longer interval",
    "misfire": "no thread was free for half an interval: raise prober.max_concurrent, or the intervals",
}


class Late:
    """Writes the first probe that could not start at once, and then how many there were, each five minutes.

    Args:
        clock: Returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._quiet_until: dict[str, float] = {}
        self._counts: Counter[str] = Counter()

    def saw(self, key: Key, reason: str) -> None:
        """Note a probe that was due and was skipped for `reason`, one of metrics.SKIP_REASONS."""
        if reason not in _CAUSES:
            return
        with self._lock:
            self._counts[reason] += 1
            now = self._clock()
            if now < self._quiet_until.get(reason, now):
                return
            self._quiet_until[reason] = now + QUIET_SECONDS
            count, self._counts[reason] = self._counts[reason], 0
        log.warning(
            "target %s, scenario %s: a probe was due and not started (%s); %s. Skipped like this since the last such "
            "line: %d",
            *key,
            reason,
            _CAUSES[reason],
            count,
        )

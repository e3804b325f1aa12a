"""Adding up how long each clock-event reason was set, from samples of the bit mask."""

import threading
from dataclasses import dataclass

from exporters.gpu import reasons


@dataclass(frozen=True)
class ReasonTotals:
    """What was seen so far, by reason: seconds and episodes of each supported reason."""

    seconds: dict[str, float]
    episodes: dict[str, int]


class ReasonIntegrator:
    """Integrates samples of the mask over time; safe to read from another thread.

    A mask is taken to hold until the next sample, but for no longer than `longest_gap` seconds: what happened while
    nobody looked is not known, and a stalled sampler must not invent throttled time. An episode is counted when a
    reason is seen that the sample before did not show, so one that is shorter than the sample period can be missed,
    and one that is set across a gap counts once.
    """

    def __init__(self, supported: int, longest_gap: float) -> None:
        self._longest_gap = longest_gap
        self._seconds = dict.fromkeys(reasons.names(supported), 0.0)
        self._episodes = dict.fromkeys(reasons.names(supported), 0)
        self._mask = 0
        # For how long the mask was held that is not in the seconds yet: most samples show what the one before did.
        self._held = 0.0
        self._at: float | None = None
        self._lock = threading.Lock()

    def observe(self, mask: int, at: float) -> None:
        """Take one sample; `at` is in seconds of a monotonic clock."""
        with self._lock:
            if self._at is not None:
                self._held += min(max(at - self._at, 0.0), self._longest_gap)
            if mask != self._mask:
                self._add_held()
                for name in reasons.names(mask & ~self._mask):
                    if name in self._episodes:
                        self._episodes[name] += 1
            self._mask, self._at = mask, at

    def interrupt(self) -> None:
        """Say that nobody looks from now on: the time until the next sample is not counted."""
        with self._lock:
            self._at = None

    def totals(self, oldest: float) -> ReasonTotals | None:
        """Return what was seen so far, or None when the last sample is older than `oldest` on the same clock."""
        with self._lock:
            if self._at is None or self._at < oldest:
                return None
            self._add_held()
            return ReasonTotals(dict(self._seconds), dict(self._episodes))

    def _add_held(self) -> None:
        """Add the time for which the mask was held; called with the lock held."""
        for name in self._seconds:
            if self._mask & reasons.BITS[name]:
                self._seconds[name] += self._held
        self._held = 0.0

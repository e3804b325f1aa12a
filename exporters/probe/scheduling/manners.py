"""When a target is left alone for a while: it asked for it (Retry-After), or it fails again and again."""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from exporters.probe.key import Key
from exporters.probe.scheduling.schedule import JITTER

# Failures that further requests do not help against; others cost the server nothing or may be over at once.
TROUBLES = ("dns", "connect", "tls", "ttft_timeout", "connection_lost", "auth", "rate_limited", "http_5xx")
# Only with these does Retry-After mean that the server has too much to do.
_MAY_ASK = ("rate_limited", "http_5xx")
# So many failures in a row are found out at the full rate, which is what an alert waits for.
AT_FULL_RATE = 3
# Between the starts of two probes of a target that fails. Three probes must end in any five minutes, or ProbeFailing
# (alerting/availability.py) would resolve while the target is still down; and its recovery must be seen soon.
LONGEST_WAIT_SECONDS = 90.0
# Being limited is no outage and pages nobody, so more patience is due.
LONGEST_WAIT_LIMITED_SECONDS = 300.0
# Nor more than so many intervals: who probes often wants to know soon.
LONGEST_WAIT_INTERVALS = 6
# A server that asks for more is asked again after this long.
LONGEST_RETRY_AFTER_SECONDS = 3600.0


@dataclass
class _Row:
    """Failures in a row of one target and scenario, and when the last one started."""

    started_at: float
    failures: int = 0
    limited: bool = False


class Manners:
    """Says whether a probe that is due may start, from what the last ones met.

    Args:
        clock: Returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rows: dict[Key, _Row] = {}
        self._not_before: dict[str, float] = {}  # by target: when it may be asked again

    def forget_all_but(self, keys: Collection[Key], targets: Collection[str]) -> None:
        """Drop the failures of all but these keys, and what all but these targets asked for."""
        with self._lock:
            self._rows = {key: row for key, row in self._rows.items() if key in keys}
            self._not_before = {name: at for name, at in self._not_before.items() if name in targets}

    def may_start(self, key: Key, interval: float) -> bool:
        """Say whether a probe may start that is due now and again after `interval` seconds; if so it is noted."""
        now = self._clock()
        with self._lock:
            if self._not_before.get(key[0], now) > now:
                return False
            row = self._rows.setdefault(key, _Row(now))
            if _leaves_out(row, now - row.started_at, interval):
                return False
            row.started_at = now
            return True

    def ended(self, key: Key, outcome: str, retry_after: float | None) -> None:
        """Note how a probe ended; `retry_after` are the seconds that a server that refused asked to be left alone."""
        now = self._clock()
        with self._lock:
            row = self._rows.setdefault(key, _Row(now))
            row.failures = row.failures + 1 if outcome in TROUBLES else 0
            row.limited = outcome == "rate_limited"
        self.asked_for_patience(key[0], outcome, retry_after)

    def asked_for_patience(self, target: str, outcome: str, retry_after: float | None) -> None:
        """Note what a target that refused a request asked for; the seconds of another outcome mean nothing.

        Of two answers the one that asks for more holds: they may come of servers that count different limits.
        """
        if retry_after is None or outcome not in _MAY_ASK:
            return
        now = self._clock()
        with self._lock:
            asked = now + min(retry_after, LONGEST_RETRY_AFTER_SECONDS)
            self._not_before[target] = max(asked, self._not_before.get(target, now))

    def slowed(self, key: Key, interval: float) -> tuple[int, float] | None:
        """Return how many probes failed in a row, and the seconds between two now; None at the full rate."""
        with self._lock:
            row = self._rows.get(key)
            if row is None:
                return None
            slots = 1
            while _leaves_out(row, slots * interval, interval):
                slots += 1
            return (row.failures, slots * interval) if slots > 1 else None

    def paused(self, target: str) -> float:
        """Return for how many seconds more a target asked to be left alone; 0 if it did not."""
        with self._lock:
            return max(self._not_before.get(target, 0.0) - self._clock(), 0.0)


def _leaves_out(row: _Row, since: float, interval: float) -> bool:
    """Say whether a probe is not to start that is due so many seconds after the last one did."""
    longest = LONGEST_WAIT_LIMITED_SECONDS if row.limited else LONGEST_WAIT_SECONDS
    longest = min(longest, LONGEST_WAIT_INTERVALS * interval)
    # A due time is early or late by the jitter.
    too_soon = since < wait(row.failures, interval, longest) - 2 * JITTER * interval
    next_in_time = since + interval * (1 + JITTER) <= longest
    return row.failures >= AT_FULL_RATE and too_soon and next_in_time


def wait(failures: int, interval: float, longest: float) -> float:
    """Return the seconds between the starts of two probes after so many failures in a row: doubled for each."""
    doublings = max(failures - AT_FULL_RATE + 1, 0)
    return max(interval, min(interval * 2.0 ** min(doublings, 32), longest))

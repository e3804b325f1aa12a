"""The last probes of each target and scenario, for the page that a person reads; series have the rest."""

import threading
from collections import deque
from dataclasses import dataclass

from exporters.probe.asking.run import ProbeResult
from exporters.probe.scheduling.key import Key

# With 500 targets of 4 scenarios this is some 15 MB.
LENGTH = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One probe that ended, `ended_at` in Unix time; figures in seconds, None where there is none."""

    ended_at: float
    outcome: str
    detail: str
    ttft: float | None
    tpot: float | None
    e2e: float | None
    output_tokens: int | None


class History:
    """Keeps the last LENGTH probes of each key, also across a reload."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[Key, deque[Entry]] = {}

    def add(self, key: Key, result: ProbeResult, now: float) -> None:
        """Note a probe that ended, `now` in Unix time."""
        entry = Entry(
            now,
            result.outcome,
            result.detail,
            result.ttft_seconds,
            result.tpot_seconds,
            result.e2e_seconds,
            result.output_tokens,
        )
        with self._lock:
            self._entries.setdefault(key, deque(maxlen=LENGTH)).append(entry)

    def of(self, key: Key) -> list[Entry]:
        """Return the entries of a key, the newest first."""
        with self._lock:
            return list(reversed(self._entries.get(key, ())))

    def forget_all_but(self, keys: set[Key]) -> None:
        """Drop what is probed no more, and what measures something new."""
        with self._lock:
            self._entries = {key: entries for key, entries in self._entries.items() if key in keys}

"""The last probes of each target and scenario, for the page that a person reads; series have the rest."""

import threading
from array import array
from dataclasses import dataclass
from math import isnan, nan

from exporters.probe.asking.run import ProbeResult
from exporters.probe.key import Key

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
        self._rings: dict[Key, _Ring] = {}

    def add(self, key: Key, result: ProbeResult, now: float) -> None:
        """Note a probe that ended, `now` in Unix time."""
        with self._lock:
            self._rings.setdefault(key, _Ring()).add(result, now)

    def of(self, key: Key) -> list[Entry]:
        """Return the entries of a key, the newest first."""
        with self._lock:
            ring = self._rings.get(key)
            return ring.entries() if ring is not None else []

    def forget_all_but(self, keys: set[Key]) -> None:
        """Drop what is probed no more, and what measures something new."""
        with self._lock:
            self._rings = {key: ring for key, ring in self._rings.items() if key in keys}


class _Ring:
    """The entries of one key, in the room that they will ever take: 1.4 kB, where objects took 5."""

    def __init__(self) -> None:
        self._added = 0
        self._texts = [("", "")] * LENGTH  # outcome and detail
        self._numbers = array("d", [nan] * (5 * LENGTH))

    def add(self, result: ProbeResult, now: float) -> None:
        place = self._added % LENGTH
        self._added += 1
        self._texts[place] = result.outcome, result.detail
        numbers = now, result.ttft_seconds, result.tpot_seconds, result.e2e_seconds, result.output_tokens
        self._numbers[5 * place : 5 * place + 5] = array("d", [nan if one is None else one for one in numbers])

    def entries(self) -> list[Entry]:
        places = range(self._added - 1, max(self._added - LENGTH, 0) - 1, -1)
        return [self._entry(place % LENGTH) for place in places]

    def _entry(self, place: int) -> Entry:
        ended_at, *figures = self._numbers[5 * place : 5 * place + 5]
        ttft, tpot, e2e, tokens = [None if isnan(one) else one for one in figures]
        return Entry(ended_at, *self._texts[place], ttft, tpot, e2e, None if tokens is None else int(tokens))

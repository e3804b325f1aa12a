"""Counts of observations by size."""

from bisect import bisect_left
from dataclasses import dataclass


@dataclass
class Histogram:
    """Counts by upper bound, not cumulated; the last is +Inf."""

    bounds: tuple[float, ...]
    counts: list[int]
    total: float = 0.0

    @classmethod
    def empty(cls, bounds: tuple[float, ...]) -> "Histogram":
        """Return a histogram without observations."""
        return cls(bounds, [0] * (len(bounds) + 1))

    def observe(self, value: float) -> None:
        """Count a value in the first bucket whose bound is at or above it."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

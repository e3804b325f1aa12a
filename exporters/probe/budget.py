"""What probes of a target may spend in a day; in memory, so a restart begins the day anew."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class _Day:
    number: int
    spent: int = 0
    reserved: int = 0


class Budgets:
    """Counts tokens by target and day (UTC). A probe reserves what it may cost at most, then settles what it did cost.

    Args:
        clock: Returns Unix time.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._days: dict[str, _Day] = {}

    def reserve(self, target: str, tokens: int, per_day: int | None) -> bool:
        """Set tokens aside and return True, or return False if the day's budget does not hold them."""
        with self._lock:
            day = self._today(target)
            if per_day is not None and day.spent + day.reserved + tokens > per_day:
                return False
            day.reserved += tokens
            return True

    def settle(self, target: str, reserved: int, spent: int) -> None:
        """Replace a reservation by what was spent."""
        with self._lock:
            day = self._today(target)
            # A probe that ran past midnight reserved on a day that is gone.
            day.reserved = max(day.reserved - reserved, 0)
            day.spent += spent

    def forget_all_but(self, targets: set[str]) -> None:
        """Drop the targets that are configured no more."""
        with self._lock:
            self._days = {target: day for target, day in self._days.items() if target in targets}

    def _today(self, target: str) -> _Day:
        number = int(self._clock() // 86400)
        day = self._days.get(target)
        if day is None or day.number != number:
            day = self._days[target] = _Day(number)
        return day

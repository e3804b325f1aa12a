"""What probes of a target have spent today (UTC), kept in a file, so that a restart does not begin the day anew."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exporters.probe.state import StateFile
from inferwatch.config.cost import ProbeBudget

FILE_NAME = "probe-spending.json"
DAY_SECONDS = 86400


@dataclass(frozen=True)
class Amount:
    """Tokens of prompts and answers, and what they cost in the currency of the target."""

    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.tokens + other.tokens, self.money + other.money)

    def less(self, other: "Amount") -> "Amount":
        """Return the difference, but nothing below zero."""
        return Amount(max(self.tokens - other.tokens, 0), max(self.money - other.money, 0.0))


@dataclass
class _Day:
    number: int
    currency: str
    spent: Amount = field(default_factory=Amount)
    reserved: Amount = field(default_factory=Amount)

    @property
    def taken(self) -> Amount:
        return self.spent + self.reserved


class Budgets:
    """Counts by target and day. A probe reserves what it may cost at most, then settles what it did cost.

    Args:
        clock: Returns Unix time.
        folder: Where the count is kept across restarts; None keeps it in memory alone.
        file_name: What its file is called.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, folder: Path | None = None, file_name: str = FILE_NAME
    ) -> None:
        self._clock = clock
        self._file = StateFile(folder, file_name, "what probes have spent today")
        self._lock = threading.Lock()
        self._currencies: dict[str, str] = {}
        self._changed = False
        self._days = self._file.load(_read, "is counted from 0") or {}

    def apply(self, currencies: dict[str, str]) -> None:
        """Drop the targets that are configured no more; money of another currency than before starts at 0."""
        with self._lock:
            self._currencies = currencies
            self._days = {target: day for target, day in self._days.items() if target in currencies}
            for target, day in self._days.items():
                if day.currency != currencies[target]:
                    day.currency = currencies[target]
                    day.spent, day.reserved = Amount(day.spent.tokens), Amount(day.reserved.tokens)
            self._changed = True

    def reserve(self, target: str, amount: Amount, limit: ProbeBudget | None) -> bool:
        """Set an amount aside and return True, or return False if the day's budget does not hold it."""
        with self._lock:
            day = self._today(target)
            if not _holds(limit, day.taken + amount):
                return False
            day.reserved += amount
            self._changed = True
            return True

    def settle(self, target: str, reserved: Amount, spent: Amount) -> None:
        """Replace a reservation by what was spent."""
        with self._lock:
            day = self._today(target)
            # A probe that ran past midnight reserved on a day that is gone.
            day.reserved = day.reserved.less(reserved)
            day.spent += spent
            self._changed = True

    def taken(self, target: str) -> Amount:
        """Return what is spent today or set aside for probes that run."""
        with self._lock:
            return self._today(target).taken

    def day(self) -> int:
        """Return the number of the day (UTC) since the epoch."""
        return int(self._clock() // DAY_SECONDS)

    def save(self) -> None:
        """Write the count to its file if it has changed; the next call tries again what fails.

        What is set aside counts as spent, so that a crash while probes run cannot spend it twice.
        """
        if self._changed and not self._file.save(self._kept):
            self._changed = True

    def _kept(self) -> object:
        with self._lock:
            self._changed = False
            targets = {
                target: {"tokens": day.taken.tokens, "money": day.taken.money, "currency": day.currency}
                for target, day in self._days.items()
                if day.number == self.day()
            }
            return {"day": self.day(), "targets": targets}

    def _today(self, target: str) -> _Day:
        day = self._days.get(target)
        if day is None or day.number != self.day():
            day = self._days[target] = _Day(self.day(), self._currencies.get(target, ""))
        return day


def _read(kept: Any) -> dict[str, _Day]:
    number = int(kept["day"])
    return {
        str(target): _Day(number, str(one["currency"]), Amount(int(one["tokens"]), float(one["money"])))
        for target, one in kept["targets"].items()
    }


def _holds(limit: ProbeBudget | None, amount: Amount) -> bool:
    if limit is None:
        return True
    tokens, money = limit.tokens_per_day, limit.money_per_day
    return (tokens is None or amount.tokens <= tokens) and (money is None or amount.money <= money)


def left(limit: ProbeBudget, taken: Amount) -> tuple[int | None, float | None]:
    """Return the tokens and the money that are left of a budget, at least 0; None where it does not limit them."""
    tokens, money = limit.tokens_per_day, limit.money_per_day
    return (
        None if tokens is None else max(tokens - taken.tokens, 0),
        None if money is None else max(money - taken.money, 0.0),
    )

"""What probes of a target have spent today (UTC), kept in a file, so that a restart does not begin the day anew."""

import math
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
    """Tokens of prompts and answers, and what they cost in a currency; "" is that of a target without prices."""

    tokens: int = 0
    money: float = 0.0
    currency: str = ""

    def __add__(self, other: "Amount") -> "Amount":
        """Return the sum of two amounts in one currency."""
        return Amount(self.tokens + other.tokens, self.money + other.money, self.currency or other.currency)


@dataclass(frozen=True)
class Reservation:
    """What is set aside for one probe, from the budget of the day on which it began."""

    target: str
    day: int
    amount: Amount


@dataclass
class _Account:
    """What a target's probes have spent in a day, and what is set aside for those that run."""

    tokens: int = 0
    money: dict[str, float] = field(default_factory=dict)  # by currency

    def taken(self, currency: str) -> Amount:
        return Amount(self.tokens, self.money.get(currency, 0.0), currency)

    def take(self, amount: Amount) -> None:
        self._add(amount.tokens, amount.money, amount.currency)

    def give_back(self, amount: Amount) -> None:
        self._add(-amount.tokens, -amount.money, amount.currency)

    def _add(self, tokens: int, money: float, currency: str) -> None:
        self.tokens += tokens
        if currency:
            # A sum of fractions may end a hair below zero.
            self.money[currency] = max(self.money.get(currency, 0.0) + money, 0.0)


class Budgets:
    """Counts by target and day. A probe reserves what it may cost at most, then settles what it did cost.

    A target that the configuration names no more keeps its account until the day is over: it may come back, as when a
    file was read that an editor had emptied.

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
        self._changed = False
        self._accounts: dict[tuple[int, str], _Account] = self._file.load(_read, "is counted from 0") or {}

    def reserve(self, target: str, amount: Amount, limit: ProbeBudget | None) -> Reservation | None:
        """Set an amount aside; None if the day's budget does not hold it."""
        with self._lock:
            day = self.day()
            account = self._today(day, target)
            if not _holds(limit, account.taken(amount.currency) + amount):
                return None
            account.take(amount)
            self._changed = True
            return Reservation(target, day, amount)

    def settle(self, reservation: Reservation, spent: Amount) -> None:
        """Replace a reservation by what was spent, in the account of the day on which the probe began."""
        with self._lock:
            account = self._accounts.get((reservation.day, reservation.target))
            # A clock that jumped by days has closed the account.
            if account is not None:
                account.give_back(reservation.amount)
                account.take(spent)
                self._changed = True

    def taken(self, target: str, currency: str = "") -> Amount:
        """Return what is spent today or set aside for probes that run, with the money of one currency."""
        with self._lock:
            return self._today(self.day(), target).taken(currency)

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
            today = self.day()
            targets = {
                target: {"tokens": account.tokens, "money": dict(account.money)}
                for (day, target), account in self._accounts.items()
                if day == today
            }
            return {"day": today, "targets": targets}

    def _today(self, today: int, target: str) -> _Account:
        account = self._accounts.get((today, target))
        if account is None:
            # Yesterday's are kept for the probes that began then, and for a clock that is put back a little.
            self._accounts = {key: one for key, one in self._accounts.items() if abs(key[0] - today) <= 1}
            account = self._accounts[today, target] = _Account()
        return account


def _read(kept: Any) -> dict[tuple[int, str], _Account]:
    day = int(kept["day"])
    return {
        (day, str(target)): _Account(
            int(_spent(one["tokens"])), {str(currency): _spent(money) for currency, money in _by_currency(one).items()}
        )
        for target, one in kept["targets"].items()
    }


def _by_currency(kept: Any) -> Any:
    # Earlier versions kept one sum and its currency.
    return kept["money"] if "currency" not in kept else {kept["currency"]: kept["money"]}


def _spent(kept: Any) -> float:
    if not (isinstance(kept, int | float) and 0 <= kept < math.inf):
        raise ValueError
    return kept


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

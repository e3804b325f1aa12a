"""What a probe may cost, what it did cost, and whether the day's budget of its target holds it."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from exporters.probe.asking.run import ProbeResult
from exporters.probe.key import Key
from exporters.probe.scheduling.budget import FILE_NAME, Amount, Budgets, Reservation
from exporters.probe.scheduling.unaffordable import unaffordable
from inferwatch.config import Config, Scenario, Target
from inferwatch.config.reckoning import most_tokens, primer_tokens, prompt_tokens

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Booking:
    """What was set aside for one probe."""

    target: Target
    name: str
    scenario: Scenario
    prompt_tokens: int
    reserved: Reservation

    @property
    def amount(self) -> Amount:
        """The most that it may cost."""
        return self.reserved.amount

    @property
    def key(self) -> Key:
        """Names of target and scenario."""
        return self.target.name, self.name


@dataclass(frozen=True)
class _Seen:
    """The most tokens that a question was found to need, for its prompt and for the answer that primes it."""

    prompt: int = 0
    primer: int = 0


class Spending:
    """Books every probe, and holds the money that probes have cost since the start.

    Args:
        clock: Returns Unix time.
        folder: Where the day's count is kept; None keeps it in memory alone.
        file_name: What its file is called.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, folder: Path | None = None, file_name: str = FILE_NAME
    ) -> None:
        self.budgets = Budgets(clock, folder, file_name)
        self._lock = threading.Lock()
        # With who was asked, and what: another question needs others.
        self._seen: dict[Key, tuple[Target, Mapping[str, object], _Seen]] = {}
        self._refused: dict[Key, int] = {}  # the day on which a probe was refused
        self._told: dict[Key, int] = {}  # the day on which the log said so
        self._money: dict[tuple[str, str], float] = {}  # by target and currency

    def apply(self, config: Config) -> None:
        """Take a configuration over."""
        targets = {target.name for target in config.targets}
        priced = {
            (target.name, target.cost.currency) for target in config.targets if target.cost and target.cost.is_per_token
        }
        with self._lock:
            self._seen = {key: seen for key, seen in self._seen.items() if key[0] in targets}
            # A budget that was raised may hold what it did not; the next probe that is due finds out.
            self._refused, self._told = {}, {}
            self._money = {key: self._money.get(key, 0.0) for key in priced}

    def book(self, target: Target, name: str, scenario: Scenario, *, due: bool = True) -> Booking | None:
        """Set aside what a probe may cost at most; None if the target's budget does not hold it.

        Args:
            target: Whose budget it is.
            name: The scenario's name.
            scenario: What will be asked.
            due: Whether the schedule wants it, so that a refusal pauses the target.
        """
        key = (target.name, name)
        prompt, amount = self._most(target, name, scenario)
        reserved = self.budgets.reserve(target.name, amount, target.probe_budget)
        with self._lock:
            if reserved is not None:
                self._refused.pop(key, None)
                return Booking(target, name, scenario, prompt, reserved)
            if not due:
                return None
            today = self._refused[key] = self.budgets.day()
            told, self._told[key] = self._told.get(key) == today, today
        if not told:
            log.warning("target %s: %s", target.name, self.why_not(target, name, scenario, "probe_budget"))
        return None

    def settle(self, booking: Booking, result: ProbeResult | None) -> None:
        """Replace a booking by what the probe did cost; None is a probe that was never sent."""
        amount = Amount()
        if result is not None:
            amount += _amount(booking.target, *used(result, booking.prompt_tokens, booking.scenario.max_tokens))
            amount += _amount(booking.target, *used_to_prime(result, booking))
        self.budgets.settle(booking.reserved, amount)
        if result is not None:
            self._learn(booking, result)
        cost = booking.target.cost
        with self._lock:
            if cost is not None and (key := (booking.target.name, cost.currency)) in self._money:
                self._money[key] += amount.money

    def why_not(self, target: Target, name: str, scenario: Scenario, whose: str) -> str:
        """Return the sentence that says why `book` refused; `whose` is what the user calls the budget."""
        _, most = self._most(target, name, scenario)
        if target.probe_budget is None:
            raise ValueError("a target without a budget is never refused")
        return unaffordable(name, most, self.taken(target), target.probe_budget, whose)

    def taken(self, target: Target) -> Amount:
        """Return what probes of a target have taken of its budget today, in its currency."""
        return self.budgets.taken(target.name, target.cost.currency if target.cost else "")

    def paused(self) -> set[str]:
        """Return the targets of which a probe was due today and refused by the budget."""
        today = self.budgets.day()
        with self._lock:
            return {key[0] for key, day in self._refused.items() if day == today}

    def money(self) -> Mapping[tuple[str, str], float]:
        """Return what probes have cost since the start, by target and currency, where tokens have a price."""
        with self._lock:
            return dict(self._money)

    def _most(self, target: Target, name: str, scenario: Scenario) -> tuple[int, Amount]:
        """Return the most tokens that the prompt may have, and the most that the probe may cost."""
        seen = self._seen_of(target, name, scenario)
        prompt, primer = max(prompt_tokens(scenario), seen.prompt), max(primer_tokens(target), seen.primer)
        return prompt, _amount(target, *most_tokens(target, scenario, prompt, primer))

    def _seen_of(self, target: Target, name: str, scenario: Scenario) -> _Seen:
        with self._lock:
            asked, what, seen = self._seen.get((target.name, name), (None, None, _Seen()))
        return seen if asked == target and what == scenario.asked() else _Seen()

    def _learn(self, booking: Booking, result: ProbeResult) -> None:
        target, scenario = booking.target, booking.scenario
        seen = self._seen_of(target, booking.name, scenario)
        prompt, primer = result.prompt_tokens or 0, result.primed.limit if result.primed else 0
        # Of several cases, the longest.
        seen = _Seen(max(prompt, seen.prompt), max(primer, seen.primer))
        with self._lock:
            self._seen[booking.key] = target, scenario.asked(), seen


def used(result: ProbeResult, prompt: int, output: int) -> tuple[int, int]:
    """Return the prompt and output tokens that a probe is charged for.

    The server's own count where it gave one. Nothing for a request that was never sent, was refused with a status, or
    crossed the end of a kept connection.
    Else a success is charged by its chunks, and any other, or an answer in one piece, for all that it might have used:
    `prompt` and `output`.
    """
    if result.token_source == "usage":  # noqa: S105 - it counts tokens and is no secret
        return result.prompt_tokens or prompt, result.output_tokens or 0
    if "send" not in result.phases or _is_refusal(result.status_code) or result.stale_connection:
        return 0, 0
    if result.outcome == "success" and result.output_tokens is not None:
        return result.prompt_tokens or prompt, result.output_tokens
    return result.prompt_tokens or prompt, max(output, result.output_tokens or 0)


def used_to_prime(result: ProbeResult, booking: Booking) -> tuple[int, int]:
    """Return the same for the request before it that filled the prefix cache; nothing where there was none."""
    primed = result.primed
    if primed is None or not primed.sent or _is_refusal(primed.status_code):
        return 0, 0
    output = primed.output_tokens or (0 if primed.token_source else primed.limit)
    return primed.prompt_tokens or booking.prompt_tokens, output


def _is_refusal(status: int | None) -> bool:
    """Say whether a server did none of the work; it may have done all of it where nothing was heard, or a 200."""
    return status is not None and status >= HTTPStatus.MULTIPLE_CHOICES


def _amount(target: Target, prompt: int, output: int) -> Amount:
    if target.cost is None:
        return Amount(prompt + output)
    return Amount(prompt + output, target.cost.of_tokens(prompt, output), target.cost.currency)


def per_day(target: Target, scenarios: Iterable[Scenario]) -> Amount:
    """Return the most that probes of a target may spend in a day with no budget: every answer at its full length."""
    total = Amount()
    for scenario in scenarios:
        probes = 86_400.0 / (scenario.interval or 86_400.0)
        one = _amount(target, *most_tokens(target, scenario))
        total += Amount(round(probes * one.tokens), probes * one.money, one.currency)
    return total

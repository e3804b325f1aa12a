"""What a probe may cost, what it did cost, and whether the day's budget of its target holds it."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from exporters.probe.asking.prime import output_limit
from exporters.probe.asking.run import ProbeResult
from exporters.probe.key import Key
from exporters.probe.scheduling.budget import FILE_NAME, Amount, Budgets, Reservation
from inferwatch.config import Config, Scenario, Target

# A token of English is about four characters; used until a server has counted the prompt.
CHARACTERS_PER_TOKEN = 4
# A server may do all the work of a request of which nothing was heard; one that refused it with a status did not.
_REFUSED = ("auth", "not_found", "rate_limited", "http_4xx", "http_5xx")


@dataclass(frozen=True)
class Booking:
    """What was set aside for one probe."""

    target: Target
    key: Key
    prompt_tokens: int
    output_tokens: int
    reserved: Reservation

    @property
    def amount(self) -> Amount:
        """The most that it may cost."""
        return self.reserved.amount


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
        self._prompts: dict[Key, int] = {}  # what a server counted last
        self._refused: dict[Key, int] = {}  # the day on which a probe was refused
        self._money: dict[tuple[str, str], float] = {}  # by target and currency

    def apply(self, config: Config) -> None:
        """Take a configuration over."""
        targets = {target.name: target for target in config.targets}
        priced = {
            (target.name, target.cost.currency) for target in config.targets if target.cost and target.cost.is_per_token
        }
        with self._lock:
            self._prompts = {key: count for key, count in self._prompts.items() if key[0] in targets}
            # A budget that was raised may hold what it did not; the next probe that is due finds out.
            self._refused = {}
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
        prompt = self._prompts.get(key) or estimated_tokens(scenario)
        amount = _amount(target, *most_tokens(target, scenario, prompt))
        reserved = self.budgets.reserve(target.name, amount, target.probe_budget)
        with self._lock:
            if reserved is not None:
                self._refused.pop(key, None)
                return Booking(target, key, prompt, scenario.max_tokens, reserved)
            if due:
                self._refused[key] = self.budgets.day()
            return None

    def settle(self, booking: Booking, result: ProbeResult | None) -> None:
        """Replace a booking by what the probe did cost; None is a probe that was never sent."""
        amount = Amount()
        if result is not None:
            amount += _amount(booking.target, *used(result, booking.prompt_tokens, booking.output_tokens))
            amount += _amount(booking.target, *used_to_prime(result, booking))
        self.budgets.settle(booking.reserved, amount)
        cost = booking.target.cost
        with self._lock:
            if result is not None and result.prompt_tokens:
                self._prompts[booking.key] = result.prompt_tokens
            if cost is not None and (key := (booking.target.name, cost.currency)) in self._money:
                self._money[key] += amount.money

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


def estimated_tokens(scenario: Scenario) -> int:
    """Return about how many tokens a prompt has; one that the server has counted is known better."""
    return -(-scenario.prompt_characters // CHARACTERS_PER_TOKEN)


def used(result: ProbeResult, prompt: int, output: int) -> tuple[int, int]:
    """Return the prompt and output tokens that a probe is charged for.

    The server's own count where it gave one. Nothing for a request that was never sent, was refused with a status, or
    crossed the end of a kept connection.
    Else a success is charged by its chunks, and any other for all that it might have used: `prompt` and `output`.
    """
    if result.token_source == "usage":  # noqa: S105 - it counts tokens and is no secret
        return result.prompt_tokens or prompt, result.output_tokens or 0
    if "send" not in result.phases or result.outcome in _REFUSED or result.stale_connection:
        return 0, 0
    if result.outcome == "success":
        return result.prompt_tokens or prompt, result.output_tokens or 0
    return result.prompt_tokens or prompt, max(output, result.output_tokens or 0)


def used_to_prime(result: ProbeResult, booking: Booking) -> tuple[int, int]:
    """Return the same for the request before it that filled the prefix cache; nothing where there was none."""
    primed = result.primed
    if primed is None or not primed.sent:
        return 0, 0
    output = primed.output_tokens or (0 if primed.token_source else output_limit(booking.target))
    return primed.prompt_tokens or booking.prompt_tokens, output


def most_tokens(target: Target, scenario: Scenario, prompt: int) -> tuple[int, int]:
    """Return the most prompt and output tokens that a probe may use, whose prompt has so many."""
    if scenario.primed:
        return 2 * prompt, scenario.max_tokens + output_limit(target)
    return prompt, scenario.max_tokens


def _amount(target: Target, prompt: int, output: int) -> Amount:
    if target.cost is None:
        return Amount(prompt + output)
    return Amount(prompt + output, target.cost.of_tokens(prompt, output), target.cost.currency)


def per_day(target: Target, scenarios: Iterable[Scenario]) -> Amount:
    """Return the most that probes of a target may spend in a day with no budget: every answer at its full length."""
    total = Amount()
    for scenario in scenarios:
        probes = 86_400.0 / (scenario.interval or 86_400.0)
        one = _amount(target, *most_tokens(target, scenario, estimated_tokens(scenario)))
        total += Amount(round(probes * one.tokens), probes * one.money, one.currency)
    return total

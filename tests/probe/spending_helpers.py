"""A clock, a file with one target and its probes, for the tests of what is spent."""

from exporters.probe.asking.run import ProbeResult
from exporters.probe.scheduling.budget import Amount, Budgets
from exporters.probe.scheduling.spending import Booking, Spending
from inferwatch.config import Config, parse_config

DAY = 86400.0
PRICED = "cost: {input_per_mtok: 1, output_per_mtok: 10}"


class Clock:
    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def config(*more: str, prompt: str = "p" * 40) -> Config:
    lines = ["targets:", "- name: chat", "  url: http://127.0.0.1:1/v1", *(f"  {line}" for line in more)]
    return parse_config("\n".join([*lines, f"scenarios: {{short: {{prompt: {prompt}, max_tokens: 64}}}}"]), "f.yml", {})


def book(spending: Spending, config: Config) -> Booking | None:
    (target,) = config.targets
    return spending.book(target, "short", config.scenarios_of(target)["short"])


def result(outcome: str = "success", **more: object) -> ProbeResult:
    return ProbeResult("chat", "short", "m", outcome, "", **{"phases": {"send": 0.001}, **more})  # type: ignore[arg-type]


def tokens(count: int) -> Amount:
    return Amount(count)


def dollars(count: int, money: float) -> Amount:
    return Amount(count, money, "USD")


def spend(budgets: Budgets, target: str, amount: Amount) -> None:
    reserved = budgets.reserve(target, amount, None)
    assert reserved is not None
    budgets.settle(reserved, amount)


def spent(spending: Spending, config: Config) -> int:
    (target,) = config.targets
    return spending.taken(target).tokens

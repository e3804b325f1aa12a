"""Budgets and costs, worked out by hand on a clock of the test's own."""

import pytest

from exporters.probe.budget import Budgets
from exporters.probe.cost import LONGEST_CATCH_UP, CostMeter, price_of
from inferwatch.config import Config, parse_config

DAY = 86400.0


class Clock:
    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def config(cost: str, name: str = "chat", more: str = "") -> Config:
    lines = ["targets:", f"- name: {name}", "  url: http://127.0.0.1:1/v1"]
    lines += [f"  cost: {cost}"] if cost else []
    return parse_config("\n".join([*lines, f"  {more}"]), "inferwatch.yml", {})


def accrued(meter: CostMeter) -> dict[str, float]:
    return {price.target: money for price, money in meter.accrued()}


def run_for(meter: CostMeter, clock: Clock, seconds: float) -> None:
    for _ in range(round(seconds / 10)):
        clock.now += 10
        meter.tick()


def test_an_hour_costs_the_hourly_price() -> None:
    clock = Clock()
    meter = CostMeter(clock)
    meter.apply(config("{per_gpu_hour: 2.50}", more="gpus: {indices: [0, 1, 2, 3]}"))
    run_for(meter, clock, 3600)
    assert accrued(meter) == {"chat": pytest.approx(10.0)}


def test_a_change_of_price_does_not_rewrite_the_past() -> None:
    clock = Clock()
    meter = CostMeter(clock)
    meter.apply(config("{per_hour: 2}"))
    run_for(meter, clock, 1800)
    meter.apply(config("{per_hour: 4}"))
    run_for(meter, clock, 1800)
    assert accrued(meter) == {"chat": pytest.approx(3.0)}


def test_another_currency_and_a_deleted_target_begin_anew() -> None:
    clock = Clock()
    meter = CostMeter(clock)
    meter.apply(config("{per_hour: 2}"))
    run_for(meter, clock, 3600)
    meter.apply(config("{per_hour: 2, currency: EUR}"))
    assert accrued(meter) == {"chat": 0.0}
    meter.apply(config("{per_hour: 2}", name="other"))
    assert accrued(meter) == {"other": 0.0}
    meter.apply(config(""))
    assert accrued(meter) == {}


def test_after_a_suspend_at_most_a_minute_is_caught_up() -> None:
    clock = Clock()
    meter = CostMeter(clock)
    meter.apply(config("{per_hour: 60}"))
    clock.now += 10 * 3600
    assert accrued(meter) == {"chat": pytest.approx(60 * LONGEST_CATCH_UP / 3600)}
    # A clock that steps back costs nothing, and is not paid for twice.
    clock.now -= 5
    assert accrued(meter) == {"chat": pytest.approx(1.0)}


def test_price_of_a_target() -> None:
    (target,) = config("{per_gpu_hour: 2}", more="gpus: {count: 0.5}").targets
    price = price_of(target)
    assert price is not None
    assert (price.basis, price.component, price.per_hour) == ("per_gpu_hour", "gpu", 1.0)
    assert price_of(config("").targets[0]) is None


def test_a_budget_is_spent_and_comes_back_the_next_day() -> None:
    clock = Clock(DAY - 100)
    budgets = Budgets(clock)
    assert budgets.reserve("chat", 64, 200)
    budgets.settle("chat", 64, 75)
    assert budgets.reserve("chat", 64, 200)
    budgets.settle("chat", 64, 75)
    # 150 are spent; another 64 would not fit into 200.
    assert not budgets.reserve("chat", 64, 200)
    assert budgets.reserve("other", 64, 200)
    clock.now = DAY
    assert budgets.reserve("chat", 64, 200)


def test_probes_that_run_at_the_same_time_share_the_budget() -> None:
    budgets = Budgets(Clock())
    assert [budgets.reserve("chat", 64, 150) for _ in range(3)] == [True, True, False]
    # A probe that cost nothing gives its share back.
    budgets.settle("chat", 64, 0)
    assert budgets.reserve("chat", 64, 150)


def test_without_a_budget_nothing_is_refused() -> None:
    budgets = Budgets(Clock())
    assert all(budgets.reserve("chat", 10_000, None) for _ in range(100))


def test_a_probe_across_midnight_counts_for_the_new_day() -> None:
    clock = Clock(DAY - 1)
    budgets = Budgets(clock)
    assert budgets.reserve("chat", 64, 100)
    clock.now = DAY + 1
    budgets.settle("chat", 64, 90)
    assert not budgets.reserve("chat", 64, 100)

"""What targets cost by the hour, worked out by hand on a clock of the test's own."""

import pytest

from exporters.probe.series.cost import LONGEST_CATCH_UP, CostMeter, price_of
from inferwatch.config import Config, parse_config


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


def test_a_target_that_is_paid_by_the_token_has_no_price_by_the_hour() -> None:
    (target,) = config("{input_per_mtok: 0.5, output_per_mtok: 2}").targets
    assert price_of(target) is None and target.cost is not None
    # 200 000 prompt tokens and 50 000 output tokens: 0.1 + 0.1.
    assert target.cost.of_tokens(200_000, 50_000) == pytest.approx(0.2)

"""What probes may spend in a day, across restarts, worked out by hand on a clock of the test's own."""

import json
from pathlib import Path

import pytest

from exporters.probe.asking.run import ProbeResult
from exporters.probe.scheduling.budget import FILE_NAME, Amount, Budgets
from exporters.probe.scheduling.spending import Booking, Spending, estimated_tokens, per_day, used
from inferwatch.config import Config, Target, parse_config
from inferwatch.config.cost import ProbeBudget

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


def test_a_budget_is_spent_and_comes_back_the_next_day() -> None:
    clock, limit = Clock(DAY - 100), ProbeBudget(tokens_per_day=200)
    budgets = Budgets(clock)
    for _ in range(2):
        assert budgets.reserve("chat", tokens(64), limit)
        budgets.settle("chat", tokens(64), tokens(75))
    # 150 are spent; another 64 would not fit into 200.
    assert not budgets.reserve("chat", tokens(64), limit)
    assert budgets.reserve("other", tokens(64), limit)
    clock.now = DAY
    assert budgets.reserve("chat", tokens(64), limit)


def test_probes_that_run_at_the_same_time_share_the_budget() -> None:
    budgets, limit = Budgets(Clock()), ProbeBudget(tokens_per_day=150)
    assert [budgets.reserve("chat", tokens(64), limit) for _ in range(3)] == [True, True, False]
    # A probe that cost nothing gives its share back.
    budgets.settle("chat", tokens(64), tokens(0))
    assert budgets.reserve("chat", tokens(64), limit)


def test_money_is_a_limit_of_its_own() -> None:
    budgets, limit = Budgets(Clock()), ProbeBudget(money_per_day=0.01)
    assert budgets.reserve("chat", Amount(10**9, 0.006), limit)
    assert not budgets.reserve("chat", Amount(1, 0.006), limit)
    budgets.settle("chat", Amount(10**9, 0.006), Amount(10**9, 0.001))
    assert budgets.reserve("chat", Amount(1, 0.006), limit)


def test_without_a_budget_nothing_is_refused() -> None:
    budgets = Budgets(Clock())
    assert all(budgets.reserve("chat", tokens(10_000), None) for _ in range(100))


def test_a_probe_across_midnight_counts_for_the_new_day() -> None:
    clock, limit = Clock(DAY - 1), ProbeBudget(tokens_per_day=100)
    budgets = Budgets(clock)
    assert budgets.reserve("chat", tokens(64), limit)
    clock.now = DAY + 1
    budgets.settle("chat", tokens(64), tokens(90))
    assert not budgets.reserve("chat", tokens(64), limit)


def test_a_restart_on_the_same_day_knows_what_was_spent_and_set_aside(tmp_path: Path) -> None:
    clock = Clock(5 * DAY)
    before = Budgets(clock, tmp_path)
    before.apply({"chat": "USD"})
    before.reserve("chat", Amount(100, 0.1), None)
    before.settle("chat", Amount(100, 0.1), Amount(70, 0.07))
    # This one runs when the process is killed: it counts as spent.
    before.reserve("chat", Amount(64, 0.06), None)
    before.save()
    after = Budgets(clock, tmp_path)
    after.apply({"chat": "USD"})
    assert after.taken("chat") == Amount(134, pytest.approx(0.13))  # type: ignore[arg-type]
    clock.now = 6 * DAY
    assert after.taken("chat") == Amount()


def test_a_deleted_target_and_another_currency_begin_anew(tmp_path: Path) -> None:
    budgets = Budgets(Clock(), tmp_path)
    budgets.apply({"chat": "USD", "other": ""})
    budgets.settle("chat", Amount(), Amount(70, 0.07))
    budgets.settle("other", Amount(), Amount(70))
    budgets.apply({"chat": "EUR"})
    budgets.save()
    assert budgets.taken("chat") == Amount(70, 0.0)
    assert set(json.loads((tmp_path / FILE_NAME).read_text())["targets"]) == {"chat"}
    budgets.apply({"chat": "EUR", "other": ""})
    assert budgets.taken("other") == Amount()


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"day": 0, "targets": {"chat": 7}}', '{"day": "x"}', "\0", "[" * 9999]
)
def test_a_broken_count_is_told_and_counted_from_0(tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    assert Budgets(Clock(), tmp_path).taken("chat") == Amount()
    assert "is counted from 0" in caplog.text


def test_a_count_that_cannot_be_kept_is_told_and_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "state"
    folder.write_text("a file where the folder should be")
    budgets = Budgets(Clock(), folder)
    caplog.clear()
    budgets.settle("chat", Amount(), tokens(70))
    budgets.save()
    budgets.save()
    assert caplog.text.count("cannot be kept") == 1
    folder.unlink()
    budgets.save()
    assert json.loads((folder / FILE_NAME).read_text())["targets"]["chat"]["tokens"] == 70


@pytest.mark.parametrize(
    ("ended", "charged"),
    [
        (result(token_source="usage", prompt_tokens=11, output_tokens=5), (11, 5)),
        (result(token_source="chunks", output_tokens=5), (10, 5)),
        # Nothing was heard of all that the server may have done.
        (result("ttft_timeout"), (10, 64)),
        (result("truncated", token_source="chunks", output_tokens=3), (10, 64)),
        (result("truncated", token_source="chunks", output_tokens=70), (10, 70)),
        (result("truncated", token_source="usage", prompt_tokens=11, output_tokens=3), (11, 3)),
        # Refused, or never sent.
        (result("rate_limited", status_code=429), (0, 0)),
        (result("http_5xx", status_code=503), (0, 0)),
        (result("connect", phases={"dns": 0.001}), (0, 0)),
        (result("auth", phases={}), (0, 0)),
    ],
)
def test_what_a_probe_is_charged(ended: ProbeResult, charged: tuple[int, int]) -> None:
    assert used(ended, prompt=10, output=64) == charged


def test_the_prompt_is_estimated_until_a_server_has_counted_it() -> None:
    spending, priced = Spending(Clock()), config(PRICED)
    spending.apply(priced)
    # 40 characters: 10 tokens.
    booking = book(spending, priced)
    assert booking is not None and booking.amount == Amount(74, pytest.approx(0.00065))  # type: ignore[arg-type]
    spending.settle(booking, result(token_source="usage", prompt_tokens=30, output_tokens=20))
    assert spending.money() == {("chat", "USD"): pytest.approx(0.00023)}
    again = book(spending, priced)
    assert again is not None and again.amount.tokens == 94


def test_a_refused_probe_pauses_its_target_until_midnight_or_an_edit() -> None:
    clock, small = Clock(), config("probe_budget: {tokens_per_day: 80}")
    spending = Spending(clock)
    spending.apply(small)
    booking = book(spending, small)
    assert booking is not None
    spending.settle(booking, result("ttft_timeout"))
    assert book(spending, small) is None and spending.paused() == {"chat"}
    clock.now = DAY
    assert spending.paused() == set() and book(spending, small) is not None

    assert book(spending, small) is None and spending.paused() == {"chat"}
    large = config("probe_budget: {tokens_per_day: 800}")
    spending.apply(large)
    assert spending.paused() == set() and book(spending, large) is not None


def test_money_is_counted_for_prices_by_the_token_alone() -> None:
    spending, hourly = Spending(Clock()), config("cost: {per_hour: 2}")
    spending.apply(hourly)
    booking = book(spending, hourly)
    assert booking is not None
    spending.settle(booking, result(token_source="usage", prompt_tokens=30, output_tokens=20))
    assert spending.money() == {}
    spending.apply(config(PRICED))
    assert spending.money() == {("chat", "USD"): 0.0}


def test_a_day_of_probes() -> None:
    priced = config(PRICED, "interval: 10m")
    (target,) = priced.targets
    scenarios = priced.scenarios_of(target)
    assert estimated_tokens(scenarios["short"]) == 10
    # 144 probes of 10 + 64 tokens; 10 cost 0.00001 and 64 cost 0.00064.
    assert per_day(target, scenarios.values()) == Amount(10_656, pytest.approx(0.0936))  # type: ignore[arg-type]


def test_a_target_without_price_costs_nothing() -> None:
    target = Target.model_validate({"name": "chat", "url": "http://127.0.0.1:1/v1"})
    assert per_day(target, config().scenarios_of(target).values()).money == 0.0

"""The accounts of a day: across midnight, restarts and edits, worked out by hand on a clock of the test's own."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from spending_helpers import DAY, PRICED, Clock, book, config, dollars, result, spend, spent, tokens

from exporters.probe.scheduling.budget import FILE_NAME, Amount, Budgets, Reservation
from exporters.probe.scheduling.spending import Booking, Spending
from inferwatch.config import parse_config
from inferwatch.config.cost import ProbeBudget


def test_a_budget_is_spent_and_comes_back_the_next_day() -> None:
    clock, limit = Clock(DAY - 100), ProbeBudget(tokens_per_day=200)
    budgets = Budgets(clock)
    for _ in range(2):
        reserved = budgets.reserve("chat", tokens(64), limit)
        assert reserved is not None
        budgets.settle(reserved, tokens(75))
    # 150 are spent; another 64 would not fit into 200.
    assert not budgets.reserve("chat", tokens(64), limit)
    assert budgets.reserve("other", tokens(64), limit)
    clock.now = DAY
    assert budgets.reserve("chat", tokens(64), limit)


def test_probes_that_run_at_the_same_time_share_the_budget() -> None:
    budgets, limit = Budgets(Clock()), ProbeBudget(tokens_per_day=150)
    one, other, refused = [budgets.reserve("chat", tokens(64), limit) for _ in range(3)]
    assert one == other == Reservation("chat", 0, tokens(64)) and refused is None
    # A probe that cost nothing gives its share back.
    budgets.settle(one, tokens(0))
    assert budgets.reserve("chat", tokens(64), limit)


def test_money_is_a_limit_of_its_own() -> None:
    budgets, limit = Budgets(Clock()), ProbeBudget(money_per_day=0.01)
    reserved = budgets.reserve("chat", dollars(10**9, 0.006), limit)
    assert reserved is not None
    assert not budgets.reserve("chat", dollars(1, 0.006), limit)
    budgets.settle(reserved, dollars(10**9, 0.001))
    assert budgets.reserve("chat", dollars(1, 0.006), limit)


def test_a_restart_on_the_same_day_knows_what_was_spent_and_set_aside(tmp_path: Path) -> None:
    clock = Clock(5 * DAY)
    before = Budgets(clock, tmp_path)
    reserved = before.reserve("chat", dollars(100, 0.1), None)
    assert reserved is not None
    before.settle(reserved, dollars(70, 0.07))
    # This one runs when the process is killed: it counts as spent.
    before.reserve("chat", dollars(64, 0.06), None)
    before.save()
    after = Budgets(clock, tmp_path)
    assert after.taken("chat", "USD") == dollars(134, pytest.approx(0.13))  # type: ignore[arg-type]
    assert after.taken("chat", "EUR") == Amount(134, 0.0, "EUR")
    clock.now = 6 * DAY
    assert after.taken("chat", "USD") == dollars(0, 0)


def test_the_count_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    count = {"tokens": 70, "money": 0.07, "currency": "USD"}
    (tmp_path / FILE_NAME).write_text(json.dumps({"day": 5, "targets": {"chat": count}}))
    assert Budgets(Clock(5 * DAY), tmp_path).taken("chat", "USD") == dollars(70, 0.07)


def test_accounts_of_days_gone_are_dropped(tmp_path: Path) -> None:
    clock = Clock()
    budgets = Budgets(clock, tmp_path)
    for day in range(5):
        clock.now = day * DAY
        spend(budgets, f"target-of-day-{day}", tokens(70))
        budgets.save()
        assert list(json.loads((tmp_path / FILE_NAME).read_text())["targets"]) == [f"target-of-day-{day}"]
    assert len(budgets._accounts) == 2


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"day": 0, "targets": {"chat": 7}}', '{"day": "x"}', "\0", "[" * 9999]
)
def test_a_broken_count_is_told_and_counted_from_0(tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    assert Budgets(Clock(), tmp_path).taken("chat") == Amount()
    assert "is counted from 0" in caplog.text


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.just([]),
    st.just({}),
    st.just({"": {}}),
)
ODD_COUNTS: list[Callable[[object], object]] = [
    lambda odd: odd,
    lambda odd: {"day": odd, "targets": {}},
    lambda odd: {"day": 0, "targets": odd},
    lambda odd: {"day": 0, "targets": {"chat": odd}},
    lambda odd: {"day": 0, "targets": {"chat": {"tokens": odd, "money": {}}}},
    lambda odd: {"day": 0, "targets": {"chat": {"tokens": 7, "money": odd}}},
    lambda odd: {"day": 0, "targets": {"chat": {"tokens": 7, "money": {"USD": odd}}}},
]


@given(count=st.sampled_from(ODD_COUNTS), odd=ODD)
def test_an_odd_count_ends_nothing(count: Callable[[object], object], odd: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE_NAME).write_text(json.dumps(count(odd)))
        budgets = Budgets(Clock(), Path(folder))
        taken = budgets.taken("chat", "USD")
        assert taken.tokens >= 0 and 0 <= taken.money < float("inf")
        spend(budgets, "chat", dollars(1, 0.1))
        budgets.save()
        assert Budgets(Clock(), Path(folder)).taken("chat", "USD").tokens == taken.tokens + 1


def test_a_count_that_cannot_be_kept_is_told_and_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "state"
    folder.write_text("a file where the folder should be")
    budgets = Budgets(Clock(), folder)
    caplog.clear()
    spend(budgets, "chat", tokens(70))
    budgets.save()
    budgets.save()
    assert caplog.text.count("cannot be kept") == 1
    folder.unlink()
    budgets.save()
    assert json.loads((folder / FILE_NAME).read_text())["targets"]["chat"]["tokens"] == 70


EMPTY = parse_config("targets: []", "f.yml", {})


@pytest.mark.parametrize("restarted", [False, True])
def test_a_target_that_is_removed_and_comes_back_has_spent_what_it_had(tmp_path: Path, restarted: bool) -> None:
    """As when a file is read that an editor has emptied before it writes the new text."""
    small, clock = config("probe_budget: {tokens_per_day: 100}"), Clock()
    spending = Spending(clock, tmp_path)
    spending.apply(small)
    booking = book(spending, small)
    assert booking is not None
    spending.settle(booking, result("ttft_timeout"))
    spending.apply(EMPTY)
    spending.budgets.save()
    if restarted:
        spending = Spending(clock, tmp_path)
        spending.apply(EMPTY)
    spending.apply(small)
    assert book(spending, small) is None
    clock.now = DAY
    assert book(spending, small) is not None


def test_a_probe_that_ends_after_its_target_was_removed_is_charged_where_it_was_booked() -> None:
    spending, limited = Spending(Clock()), config(PRICED, "probe_budget: {money_per_day: 0.001}")
    spending.apply(limited)
    booking = book(spending, limited)
    assert booking is not None
    spending.apply(EMPTY)
    spending.settle(booking, result("ttft_timeout"))
    spending.apply(limited)
    # 0.00065 of 0.001 are spent; another 0.00065 would not fit.
    assert book(spending, limited) is None


def test_money_of_each_currency_is_counted_apart(tmp_path: Path) -> None:
    clock = Clock()
    limit = "probe_budget: {money_per_day: 0.001}"
    in_dollars, in_euros = config(PRICED, limit), config(PRICED.replace("}", ", currency: EUR}"), limit)
    spending = Spending(clock, tmp_path)
    spending.apply(in_dollars)
    running = book(spending, in_dollars)
    assert running is not None
    spending.apply(in_euros)
    # It was paid in dollars: it neither fills the budget in euros nor takes from what is set aside there.
    assert book(spending, in_euros) is not None
    spending.settle(running, result("ttft_timeout"))
    assert book(spending, in_euros) is None
    spending.budgets.save()
    spending = Spending(clock, tmp_path)
    spending.apply(in_dollars)
    assert book(spending, in_dollars) is None


def test_a_probe_across_midnight_counts_for_the_day_on_which_it_began() -> None:
    clock, small = Clock(DAY - 1), config("probe_budget: {tokens_per_day: 80}")
    spending = Spending(clock)
    spending.apply(small)
    late = book(spending, small)
    clock.now = DAY + 1
    early = book(spending, small)
    assert late is not None and early is not None
    spending.settle(late, None)
    # What the first one gives back is yesterday's; the second one still runs.
    assert book(spending, small) is None and spent(spending, small) == 74
    spending.settle(early, None)
    assert spent(spending, small) == 0
    # A clock that is put back finds yesterday as it was.
    again = book(spending, small)
    clock.now = DAY - 1
    assert spent(spending, small) == 0
    late = book(spending, small)
    clock.now = DAY + 1
    assert late is not None and again is not None and spent(spending, small) == 74
    spending.settle(late, result("ttft_timeout"))
    assert spent(spending, small) == 74


def test_a_clock_that_jumps_by_days_leaves_the_account_of_its_new_day_alone() -> None:
    """As when a machine starts in 1970 and is then told the time."""
    clock, small = Clock(), config("probe_budget: {tokens_per_day: 80}")
    spending = Spending(clock)
    spending.apply(small)
    before = book(spending, small)
    clock.now = 20_000 * DAY
    assert before is not None and book(spending, small) is not None
    spending.settle(before, result("ttft_timeout"))
    assert spent(spending, small) == 74 and book(spending, small) is None


@example([("book", 0), ("midnight", 0), ("midnight", 0), ("book", 0), ("settle", 0)])
@given(st.lists(st.tuples(st.sampled_from(["book", "settle", "late", "midnight", "edit"]), st.integers(0, 120))))
def test_no_day_holds_more_than_its_budget(steps: list[tuple[str, int]]) -> None:
    """Whatever runs across midnight, ends or is edited meanwhile."""
    clock, small = Clock(), config("probe_budget: {tokens_per_day: 200}")
    spending = Spending(clock)
    spending.apply(small)
    running: list[tuple[int, Booking]] = []
    ended: dict[int, int] = {}
    for step, number in steps:
        day = spending.budgets.day()
        if step == "midnight":
            clock.now += DAY
        elif step == "edit":
            spending.apply(EMPTY)
            spending.apply(small)
        elif step == "book" and (booking := book(spending, small)) is not None:
            running.append((day, booking))
        elif step in ("settle", "late") and running:
            began, booking = running.pop(number % len(running))
            cost = min(number, 54)
            spending.settle(booking, result(token_source="usage", prompt_tokens=10, output_tokens=cost))
            ended[began] = ended.get(began, 0) + 10 + cost
        for started in {began for began, _ in running} | ended.keys():
            reserved = sum(booking.amount.tokens for began, booking in running if began == started)
            assert ended.get(started, 0) + reserved <= 200
        today = spending.budgets.day()
        reserved = sum(booking.amount.tokens for began, booking in running if began == today)
        assert spent(spending, small) == ended.get(today, 0) + reserved

"""What probes may spend in a day, across restarts, worked out by hand on a clock of the test's own."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporters.probe.asking.prime import Primed
from exporters.probe.asking.run import ProbeResult
from exporters.probe.scheduling.budget import FILE_NAME, Amount, Budgets, Reservation
from exporters.probe.scheduling.spending import Booking, Spending, per_day, used
from inferwatch.config import Config, Target, parse_config
from inferwatch.config.cost import ProbeBudget
from inferwatch.errors import ConfigError

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


def test_without_a_budget_nothing_is_refused() -> None:
    budgets = Budgets(Clock())
    assert all(budgets.reserve("chat", tokens(10_000), None) for _ in range(100))


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


@pytest.mark.parametrize(
    ("ended", "charged"),
    [
        (result(token_source="usage", prompt_tokens=11, output_tokens=5), (11, 5)),
        (result(token_source="chunks", output_tokens=5), (10, 5)),
        # An answer in one piece, of which nobody counted the tokens.
        (result(), (10, 64)),
        # Nothing was heard of all that the server may have done.
        (result("ttft_timeout"), (10, 64)),
        (result("truncated", token_source="chunks", output_tokens=3), (10, 64)),
        (result("truncated", token_source="chunks", output_tokens=70), (10, 70)),
        (result("truncated", token_source="usage", prompt_tokens=11, output_tokens=3), (11, 3)),
        # Refused, or never sent.
        (result("rate_limited", status_code=429), (0, 0)),
        (result("http_5xx", status_code=503), (0, 0)),
        (result("not_stream", status_code=307), (0, 0)),
        # A 200 is no refusal, whatever came with it.
        (result("not_stream", status_code=200), (10, 64)),
        (result("stream_error", status_code=200), (10, 64)),
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
    assert booking is not None and booking.amount == dollars(74, pytest.approx(0.00065))  # type: ignore[arg-type]
    spending.settle(booking, result(token_source="usage", prompt_tokens=30, output_tokens=20))
    assert spending.money() == {("chat", "USD"): pytest.approx(0.00023)}
    again = book(spending, priced)
    assert again is not None and again.amount.tokens == 94


@pytest.mark.parametrize(
    ("primed", "charged"),
    [
        (None, 0),
        (Primed(prompt_tokens=11, output_tokens=1, token_source="usage", status_code=200), 12),
        (Primed(output_tokens=1, token_source="chunks", status_code=200), 11),
        # Nothing was heard of all that the server may have done, or no answer.
        (Primed("ttft_timeout"), 11),
        (Primed("ttft_timeout", limit=16), 26),
        (Primed("not_stream", status_code=200), 11),
        # Refused, or never sent.
        (Primed("rate_limited", status_code=429), 0),
        (Primed("not_stream", status_code=307), 0),
        (Primed("connect", sent=False), 0),
    ],
)
def test_what_the_request_before_a_warm_probe_is_charged(primed: Primed | None, charged: int) -> None:
    spending, in_force = Spending(Clock()), config()
    spending.apply(in_force)
    booking = book(spending, in_force)
    assert booking is not None
    spending.settle(booking, result(token_source="usage", prompt_tokens=10, output_tokens=5, primed=primed))
    assert spending.taken(in_force.targets[0]).tokens == 15 + charged


def counted(tokens: int) -> ProbeResult:
    return result(token_source="usage", prompt_tokens=tokens, output_tokens=20)


def booked(spending: Spending, config: Config) -> int:
    """Return what is set aside for the prompt of a probe that is then never sent."""
    booking = book(spending, config)
    assert booking is not None
    spending.settle(booking, None)
    return booking.prompt_tokens


def test_what_a_server_counted_holds_for_the_same_question_alone() -> None:
    spending, short = Spending(Clock()), config()
    for in_force in (short, config(prompt="w" * 400), config("model: other", prompt="w" * 400), short):
        spending.apply(in_force)
        before = booked(spending, in_force)
        running = book(spending, in_force)
        assert before in (10, 100) and running is not None
        spending.settle(running, counted(before + 20))
        assert booked(spending, in_force) == before + 20


def test_a_count_that_comes_after_an_edit_is_of_the_old_question() -> None:
    spending, short, long = Spending(Clock()), config(), config(prompt="w" * 400)
    spending.apply(short)
    running = book(spending, short)
    assert running is not None
    spending.apply(long)
    spending.settle(running, counted(14))
    assert booked(spending, long) == 100


def test_of_counts_that_alternate_the_largest_is_set_aside_and_never_less_than_is_reckoned() -> None:
    spending, in_force = Spending(Clock()), config()
    spending.apply(in_force)
    seen = []
    for tokens in (5, 40, 12):
        running = book(spending, in_force)
        assert running is not None
        spending.settle(running, counted(tokens))
        seen.append(booked(spending, in_force))
    assert seen == [10, 40, 40]


def test_what_primes_a_prompt_is_set_aside_as_it_was_last() -> None:
    """Models that reason take no answer of one token."""
    spending, in_force = Spending(Clock()), config()
    primed = in_force.scenarios["short"].model_copy(update={"primed": True})
    in_force = in_force.model_copy(update={"scenarios": {"short": primed}})
    spending.apply(in_force)
    for limit, output in ((1, 1), (64, 1), (1, 64)):
        booking = book(spending, in_force)
        assert booking is not None and booking.amount.tokens == 2 * 10 + 64 + output
        spending.settle(booking, result("ttft_timeout", primed=Primed("ttft_timeout", limit=limit)))


@given(
    budget=st.fixed_dictionaries(
        {},
        optional={"tokens_per_day": st.integers(1, 300), "money_per_day": st.floats(1e-5, 0.003)},
    ).filter(bool),
    primed=st.booleans(),
    prompt=st.text("pé1是", min_size=1, max_size=60),
    api=st.sampled_from(["openai-chat", "openai-responses"]),
)
def test_a_file_is_taken_just_when_a_first_probe_may_start(
    budget: dict[str, float], primed: bool, prompt: str, api: str
) -> None:
    target: dict[str, object] = {"name": "chat", "url": "http://127.0.0.1:1/v1", "api": api, "probe_budget": budget}
    target["cost"] = {"input_per_mtok": 1, "output_per_mtok": 10}
    asked = {"short": {"prompt": prompt, "max_tokens": 64, "primed": primed}}
    try:
        in_force = parse_config(json.dumps({"targets": [target], "scenarios": asked}), "f.yml", {})
    except ConfigError as error:
        assert "would never run" in str(error)
        del target["probe_budget"]
        free = parse_config(json.dumps({"targets": [target], "scenarios": asked}), "f.yml", {})
        limited = free.targets[0].model_copy(update={"probe_budget": ProbeBudget.model_validate(budget)})
        in_force = free.model_copy(update={"targets": [limited]})
        assert book(Spending(Clock()), in_force) is None
    else:
        assert book(Spending(Clock()), in_force) is not None


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


def test_the_log_says_once_a_day_and_after_an_edit_why_a_probe_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    clock, small = Clock(), config("probe_budget: {tokens_per_day: 80}")
    spending = Spending(clock)
    spending.apply(small)
    said = "of the 80 tokens of probe_budget 6 are left for today (UTC), and one probe of 'short' may use 74 tokens"
    for day in range(2):
        clock.now = day * DAY
        assert book(spending, small) is not None and not caplog.messages
        assert [book(spending, small) for _ in range(3)] == [None] * 3
        assert caplog.messages == [f"target chat: {said}"]
        caplog.clear()
    spending.apply(small)
    (target,) = small.targets
    assert spending.book(target, "short", small.scenarios["short"], due=False) is None and not caplog.messages
    assert book(spending, small) is None and len(caplog.messages) == 1


def test_the_log_says_of_a_prompt_that_is_longer_for_its_server_that_it_never_fits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, small = Clock(), config("probe_budget: {tokens_per_day: 80}")
    spending = Spending(clock)
    spending.apply(small)
    booking = book(spending, small)
    assert booking is not None
    spending.settle(booking, counted(30))
    clock.now = DAY
    assert book(spending, small) is None
    assert caplog.messages == [
        "target chat: one probe of 'short' may use 94 tokens, more than the 80 of probe_budget; allow more"
    ]


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
    # 144 probes of 10 + 64 tokens; 10 cost 0.00001 and 64 cost 0.00064.
    assert per_day(target, scenarios.values()) == dollars(10_656, pytest.approx(0.0936))  # type: ignore[arg-type]


def test_a_target_without_price_costs_nothing() -> None:
    target = Target.model_validate({"name": "chat", "url": "http://127.0.0.1:1/v1"})
    assert per_day(target, config().scenarios_of(target).values()).money == 0.0


EMPTY = parse_config("targets: []", "f.yml", {})


def spent(spending: Spending, config: Config) -> int:
    (target,) = config.targets
    return spending.taken(target).tokens


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

"""What a probe is charged, what is set aside for it before, and what is said when that is too much."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spending_helpers import DAY, PRICED, Clock, book, config, dollars, result, tokens

from exporters.probe.asking.prime import Primed
from exporters.probe.asking.run import ProbeResult
from exporters.probe.scheduling.budget import Budgets
from exporters.probe.scheduling.spending import Spending, per_day, used
from inferwatch.config import Config, Target, parse_config
from inferwatch.config.cost import ProbeBudget
from inferwatch.errors import ConfigError


def test_without_a_budget_nothing_is_refused() -> None:
    budgets = Budgets(Clock())
    assert all(budgets.reserve("chat", tokens(10_000), None) for _ in range(100))


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
    for count in (5, 40, 12):
        running = book(spending, in_force)
        assert running is not None
        spending.settle(running, counted(count))
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

"""When a target is left alone: back-off and Retry-After, on a clock of the test's own."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.probe.metrics import OUTCOMES
from exporters.probe.scheduling import manners
from exporters.probe.scheduling.manners import Manners, wait
from exporters.probe.scheduling.schedule import JITTER, fraction
from exporters.probe.wire.retry_after import retry_after_seconds

KEY = ("chat", "short")
OTHER = ("chat", "long")


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def starts(interval: float, outcomes: list[str], took: float = 0.0) -> list[float]:
    """Return when the probes of `outcomes` start, each due once an interval, early or late by the jitter."""
    clock = Clock()
    held = Manners(clock)
    found: list[float] = []
    for slot in itertools.count():
        due = 1000 + interval * (slot + JITTER * fraction(slot))
        # One that is due while the last runs is skipped by the schedule.
        if found and due < found[-1] + took:
            continue
        clock.now = due
        if held.may_start(KEY, interval):
            found.append(due)
            clock.now = due + took
            held.ended(KEY, outcomes[len(found) - 1], None)
            if len(found) == len(outcomes):
                return found
    raise AssertionError("the slots never end")


def test_three_failures_come_at_the_full_rate_then_the_pause_doubles_below_six_intervals() -> None:
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts(10, ["connect"] * 9))]
    assert [round(gap / 10) for gap in gaps] == [1, 1, 2, 4, 5, 5, 5, 5]


@pytest.mark.parametrize(
    ("outcome", "interval", "slots"),
    [
        ("connect", 10, [None, None, 2, 4, 5, 5]),
        ("dns", 60, [None] * 6),
        ("rate_limited", 60, [None, None, 2, 4, 4, 4]),
        ("check_failed", 10, [None] * 6),
    ],
)
def test_what_is_said_of_the_pause_is_what_is_kept(outcome: str, interval: int, slots: list[int | None]) -> None:
    held = Manners(Clock())
    assert held.slowed(KEY, interval) is None
    said = []
    for _ in slots:
        held.ended(KEY, outcome, None)
        said.append(held.slowed(KEY, interval))
    assert said == [slot and (row, slot * interval) for row, slot in enumerate(slots, 1)]
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts(interval, [outcome] * 7))]
    assert [round(gap / interval) for gap in gaps] == [slot or 1 for slot in slots]
    held.ended(KEY, "success", None)
    assert held.slowed(KEY, interval) is None


@given(interval=st.floats(1, 3600), took=st.floats(0, 60))
def test_a_target_that_is_down_is_asked_often_enough_for_the_alerts(interval: float, took: float) -> None:
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts(interval, ["http_5xx"] * 12, took))]
    # A probe that takes longer than the pause starts at the first due time after it.
    longest = max(interval * (1 + JITTER), manners.LONGEST_WAIT_SECONDS, took + interval * (1 + 2 * JITTER))
    assert max(gaps) <= longest + 1e-6


def test_a_success_ends_it() -> None:
    gaps = [
        later - earlier
        for earlier, later in itertools.pairwise(starts(10, [*["connect"] * 5, "success", *["dns"] * 3]))
    ]
    assert [round(gap / 10) for gap in gaps] == [1, 1, 2, 4, 5, 1, 1, 1]


def test_a_minute_between_probes_is_patience_enough_except_for_one_that_limits() -> None:
    down = [later - earlier for earlier, later in itertools.pairwise(starts(60, ["connect"] * 8))]
    assert all(gap <= 63.1 for gap in down)
    limited = [later - earlier for earlier, later in itertools.pairwise(starts(60, ["rate_limited"] * 8))]
    assert [round(gap / 60) for gap in limited] == [1, 1, 2, 4, 4, 4, 4]


@pytest.mark.parametrize("outcome", ["check_failed", "truncated", "finish_reason", "not_found", "tainted"])
def test_what_a_pause_does_not_help_against_is_asked_at_the_full_rate(outcome: str) -> None:
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts(10, [outcome] * 8))]
    assert all(round(gap / 10) == 1 for gap in gaps)


def test_troubles_are_outcomes() -> None:
    assert set(manners.TROUBLES) <= set(OUTCOMES)


def test_retry_after_holds_every_scenario_of_the_target_and_no_other() -> None:
    clock = Clock()
    held = Manners(clock)
    assert held.may_start(KEY, 10)
    held.ended(KEY, "rate_limited", 30.0)
    clock.now += 29
    assert not held.may_start(KEY, 10) and not held.may_start(OTHER, 10) and held.may_start(("b", "short"), 10)
    assert held.paused("chat") == pytest.approx(1.0) and held.paused("b") == 0
    clock.now += 1.1
    assert held.may_start(KEY, 10) and held.may_start(OTHER, 10) and held.paused("chat") == 0


def test_retry_after_is_respected_up_to_an_hour_and_of_refusals_alone() -> None:
    clock = Clock()
    held = Manners(clock)
    held.ended(KEY, "http_5xx", 10.0**9)
    assert held.paused("chat") == 3600
    held.ended(("b", "short"), "not_stream", 60.0)
    assert held.paused("b") == 0


def test_a_target_that_was_changed_or_deleted_is_not_held_against_another() -> None:
    held = Manners(Clock())
    held.ended(KEY, "rate_limited", 30.0)
    held.forget_all_but({OTHER}, {"chat"})
    assert held.paused("chat") == 30
    held.forget_all_but({OTHER}, {"other"})
    assert held.paused("chat") == 0


@given(st.lists(st.floats(0, 3600), min_size=1, max_size=6))
def test_of_several_answers_the_one_that_asks_for_the_most_holds(asked: list[float]) -> None:
    held = Manners(Clock())
    for seconds in asked:
        held.asked_for_patience("chat", "rate_limited", seconds)
    assert held.paused("chat") == pytest.approx(max(asked))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0.5 ", 0.5),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1e999", None),
        ("\u00b2", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value, now=10.0) == seconds


@given(st.text(max_size=40))
def test_any_text_may_stand_there(value: str) -> None:
    seconds = retry_after_seconds(value, now=0.0)
    assert seconds is None or seconds >= 0


def test_the_pause_is_never_below_the_interval() -> None:
    assert [wait(failures, 60, 90) for failures in (0, 2, 3, 4, 10**6)] == [60, 60, 90, 90, 90]
    assert wait(50, 600, 90) == 600

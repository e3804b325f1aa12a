"""Right after a start: how soon everything is probed for the first time, and that none of it waits into a misfire."""

import heapq
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.probe.key import Key
from exporters.probe.scheduling.first_runs import LATEST_SECONDS, SHARE, SOONEST_SECONDS, first_within
from exporters.probe.scheduling.prober import Prober
from exporters.probe.scheduling.schedule import PhaseTrigger, Schedule, grace
from inferwatch.config import parse_config

START = datetime(2026, 1, 1, tzinfo=UTC)
PLACES = 16


def started(targets: int, scenarios: list[str], prober: str) -> tuple[Prober, dict[Key, float]]:
    """Return a prober of so many targets, and after how many seconds its schedule runs each key first."""
    listed = [{"name": f"t{i}", "url": "http://h/v1", "model": "m", "scenarios": scenarios} for i in range(targets)]
    probed = Prober()
    fresh = probed.apply(parse_config(json.dumps({"targets": listed}), "f", {}))
    schedule = Schedule(PLACES, lambda _: None, lambda *_: None, prober)
    before = datetime.now(UTC)
    schedule.apply(probed.intervals(), fresh, probed.lasting())
    jobs = schedule._scheduler.get_jobs()
    return probed, {job.args[0]: max((job.next_run_time - before).total_seconds(), 0.0) for job in jobs}


def misfires(probed: Prober, first: dict[Key, float], seconds: float, prober: str) -> list[Key]:
    """Return what waits too long for one of the places until then, if each probe takes as long as is expected."""
    intervals, lasting = probed.intervals(), probed.lasting()
    free_at = [0.0] * PLACES
    due = [(at, key) for key, at in first.items()]
    heapq.heapify(due)
    late = []
    while due and due[0][0] < seconds:
        at, key = heapq.heappop(due)
        interval = intervals[key]
        ended = max(at, free_at[0])
        if ended - at > grace(interval):
            late.append(key)
        else:
            ended += lasting[key]
            heapq.heapreplace(free_at, ended)
        trigger = PhaseTrigger(key, interval, prober)
        moment = START + timedelta(seconds=at)
        following = trigger.get_next_fire_time(moment, moment)
        # One that is due while the last one waits or runs is an overlap, and the next one is its turn.
        while (following - START).total_seconds() < ended:
            following = trigger.get_next_fire_time(following, following)
        heapq.heappush(due, ((following - START).total_seconds(), key))
    return late


@pytest.mark.parametrize("prober", ["one", "two", "three"])
@pytest.mark.parametrize(
    ("targets", "scenarios"),
    [
        (100, ["short"]),
        (100, ["short", "canary-long"]),
        (200, ["short", "canary-long"]),
        (400, ["canary-long"]),
        (30, ["short", "canary", "canary-long"]),
    ],
)
def test_what_fits_does_not_misfire_after_a_start(targets: int, scenarios: list[str], prober: str) -> None:
    probed, first = started(targets, scenarios, prober)
    lasting, intervals = probed.lasting(), probed.intervals()
    assert sum(lasting[key] / intervals[key] for key in first) < PLACES, "or inferwatch check would say so"
    assert len(first) == targets * len(scenarios)
    assert all(at <= intervals[key] for key, at in first.items())
    assert misfires(probed, first, 1800, prober) == []


def test_few_targets_are_probed_at_once() -> None:
    _, first = started(5, ["short"], "one")
    assert max(first.values()) <= SOONEST_SECONDS


@pytest.mark.parametrize("targets", [1, 5, 20])
def test_short_probes_do_not_wait_for_long_ones(targets: int) -> None:
    _, first = started(targets, ["short", "canary", "canary-long"], "one")
    _, alone = started(targets, ["short", "canary"], "one")
    alone = {key: at for key, at in alone.items() if key[1] == "short"}
    assert max(alone.values()) < 10
    assert {key: at for key, at in first.items() if key[1] == "short"} == pytest.approx(alone, abs=0.1)


def test_what_does_not_fit_is_not_spread_over_a_day() -> None:
    keys = [(f"t{i}", name) for i in range(13) for name in ("minutely", "daily")]
    intervals = {key: 60.0 if key[1] == "minutely" else 86_400.0 for key in keys}
    within = first_within(intervals, dict.fromkeys(keys, 60.0), set(keys), PLACES)
    assert within == {key: 60.0 if key[1] == "minutely" else LATEST_SECONDS for key in keys}
    # One that takes longer than its interval takes a place, and not two.
    assert first_within({keys[0]: 30.0}, {keys[0]: 90.0}, {keys[0]}, 2) == {keys[0]: pytest.approx(20.0)}


KEYS = st.dictionaries(
    st.tuples(st.text("ab", min_size=1, max_size=4), st.just("short")),
    st.tuples(st.floats(1, 86400), st.floats(0.01, 120)),
    min_size=1,
    max_size=20,
)


@given(probes=KEYS, places=st.integers(1, 64), data=st.data())
def test_first_runs_take_their_share_of_the_places_and_come_no_later_than_that_needs(
    probes: dict[Key, tuple[float, float]], places: int, data: st.DataObject
) -> None:
    fresh = data.draw(st.sets(st.sampled_from(sorted(probes)), min_size=1))
    intervals = {key: interval for key, (interval, _) in probes.items()}
    takes = {key: min(seconds, intervals[key]) for key, (_, seconds) in probes.items()}
    found = first_within(intervals, {key: seconds for key, (_, seconds) in probes.items()}, fresh, places)
    assert found.keys() == fresh
    probed = sum(takes[key] / intervals[key] for key in probes.keys() - fresh)
    for key, within in found.items():
        as_short = [other for other in fresh if takes[other] <= takes[key]]

        def taken(seconds: float, others: list[Key] = as_short) -> float:
            return sum(takes[other] / min(seconds, intervals[other]) for other in others)

        assert within <= intervals[key]
        room = SHARE * places - probed
        at_least = taken(max(intervals.values()))
        if at_least < room * (1 - 1e-9):
            # The interval may be shorter than what the others need.
            assert within == intervals[key] or taken(within) <= room * (1 + 1e-9)
            assert within <= SOONEST_SECONDS or taken(within * 0.99) >= room * (1 - 1e-9)
        elif at_least > room * (1 + 1e-9):
            assert within == min(LATEST_SECONDS, intervals[key])


def test_without_anything_fresh_there_is_nothing_to_spread() -> None:
    assert first_within({("a", "short"): 60.0}, {("a", "short"): 1.0}, set(), 16) == {}

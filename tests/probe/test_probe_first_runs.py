"""Right after a start: how soon everything is probed for the first time, and that none of it waits into a misfire."""

import heapq
import json
import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.probe.key import Key
from exporters.probe.scheduling.first_runs import SHARE, SOONEST_SECONDS, first_within
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
    lasting = {key: seconds for key, (_, seconds) in probes.items()}

    def taken(within: float) -> float:
        over = {key: min(within, intervals[key]) if key in fresh else intervals[key] for key in probes}
        return sum(lasting[key] / over[key] for key in probes)

    within = first_within(intervals, lasting, fresh, places)
    assert within >= SOONEST_SECONDS
    if within == math.inf:
        assert taken(math.inf) >= SHARE * places * (1 - 1e-9)
    else:
        assert taken(within) <= SHARE * places * (1 + 1e-9)
        assert within == SOONEST_SECONDS or taken(within * 0.99) >= SHARE * places * (1 - 1e-9)


def test_without_anything_fresh_there_is_nothing_to_spread() -> None:
    assert first_within({("a", "short"): 60.0}, {("a", "short"): 1.0}, set(), 16) == math.inf

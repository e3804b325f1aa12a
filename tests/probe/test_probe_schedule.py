"""When probes are due: phases, jitter, overlap, misfire, and what a reload changes."""

import itertools
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probe_helpers import until

from exporters.probe.key import Key
from exporters.probe.scheduling.schedule import JITTER, PhaseTrigger, Schedule, fraction

START = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ("chat", "short")
QUICK = defaultdict[Key, float](lambda: 0.01)


def fire_times(key: Key, interval: float, number: int, start: datetime = START) -> list[datetime]:
    trigger = PhaseTrigger(key, interval)
    times = [trigger.get_next_fire_time(None, start)]
    while len(times) < number:
        times.append(trigger.get_next_fire_time(times[-1], times[-1]))
    return times


@given(name=st.text("abc-", min_size=1, max_size=5), interval=st.floats(0.5, 86400), offset=st.floats(0, 1e6))
def test_one_probe_in_each_interval(name: str, interval: float, offset: float) -> None:
    times = fire_times((name, "short"), interval, 20, START + timedelta(seconds=offset))
    assert times[0] >= START + timedelta(seconds=offset - 1e-5)
    for earlier, later in itertools.pairwise(times):
        step = (later - earlier).total_seconds()
        assert interval * (1 - JITTER) - 1e-4 <= step <= interval * (1 + JITTER) + 1e-4


def test_a_restart_does_not_move_the_phase() -> None:
    times = fire_times(KEY, 60, 10)
    again = fire_times(KEY, 60, 6, start=times[3] + timedelta(seconds=1))
    assert again == times[4:]


def test_targets_are_spread_over_the_interval() -> None:
    phases = [fraction(f"target-{index}", "short") for index in range(400)]
    quarters = Counter(int(phase * 4) for phase in phases)
    assert all(60 <= quarters[quarter] <= 140 for quarter in range(4))


def test_two_probers_of_the_same_targets_do_not_probe_in_step() -> None:
    """Of 60 s; with equal phases every difference would be 0."""
    apart = []
    for index in range(100):
        key = (f"target-{index}", "short")
        first, second = (PhaseTrigger(key, 60, prober).get_next_fire_time(None, START) for prober in ("one", "two"))
        apart.append(abs((first - second).total_seconds()))
    assert sum(seconds > 3 for seconds in apart) > 60
    # And each of them stays where it was.
    assert PhaseTrigger(KEY, 60, "one").get_next_fire_time(None, START) == PhaseTrigger(
        KEY, 60, "one"
    ).get_next_fire_time(None, START)


def test_the_jitter_is_not_the_same_each_time() -> None:
    times = fire_times(KEY, 60, 10)
    assert len({(later - earlier) for earlier, later in itertools.pairwise(times)}) > 5


def test_the_run_after_an_early_first_one_is_half_an_interval_away() -> None:
    trigger = PhaseTrigger(KEY, 60)
    slot = trigger.get_next_fire_time(None, START)
    just_before = slot - timedelta(seconds=2)
    assert (trigger.get_next_fire_time(just_before, just_before) - just_before).total_seconds() >= 30


class Running:
    """Stands in for the prober: holds each probe until it is let go, and counts."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.lock = threading.Lock()
        self.runs: Counter[Key] = Counter()
        self.now: Counter[Key] = Counter()
        self.most: Counter[Key] = Counter()
        self.skipped: Counter[tuple[Key, str]] = Counter()

    def run(self, key: Key) -> None:
        with self.lock:
            self.runs[key] += 1
            self.now[key] += 1
            self.most[key] = max(self.most[key], self.now[key])
        self.release.wait(60)
        with self.lock:
            self.now[key] -= 1

    def skip(self, key: Key, reason: str) -> None:
        with self.lock:
            self.skipped[key, reason] += 1


@pytest.fixture
def running() -> Iterator[Running]:
    held = Running()
    yield held
    held.release.set()


@pytest.fixture
def scheduled(running: Running) -> Iterator[Callable[[int], Schedule]]:
    started: list[Schedule] = []

    def make(max_concurrent: int) -> Schedule:
        started.append(Schedule(max_concurrent, running.run, running.skip))
        started[-1].start()
        return started[-1]

    yield make
    running.release.set()
    for schedule in started:
        schedule.stop()


def test_the_first_probe_is_soon(running: Running, scheduled: Callable[[int], Schedule]) -> None:
    running.release.set()
    schedule = scheduled(4)
    schedule.apply({KEY: 3600.0}, {KEY}, QUICK)
    until(lambda: running.runs[KEY] == 1, "the first probe, though the interval is an hour")


def test_overlap_is_skipped_and_counted(running: Running, scheduled: Callable[[int], Schedule]) -> None:
    scheduled(4).apply({KEY: 0.5}, {KEY}, QUICK)
    until(lambda: running.skipped[KEY, "overlap"] >= 2, "skipped probes while one hangs")
    assert (running.runs[KEY], running.most[KEY]) == (1, 1)


def test_a_reload_does_not_run_two_of_one_target(running: Running, scheduled: Callable[[int], Schedule]) -> None:
    schedule = scheduled(4)
    schedule.apply({KEY: 0.5}, {KEY}, QUICK)
    until(lambda: running.runs[KEY] == 1, "the first probe")
    schedule.apply({}, set(), QUICK)
    schedule.apply({KEY: 0.5}, {KEY}, QUICK)
    schedule.apply({KEY: 0.4}, set(), QUICK)
    until(lambda: running.skipped[KEY, "overlap"] >= 2, "skipped probes after the reload")
    assert running.most[KEY] == 1


def test_waiting_for_a_thread_too_long_is_a_misfire(running: Running, scheduled: Callable[[int], Schedule]) -> None:
    other = ("other", "short")
    schedule = scheduled(1)
    schedule.apply({KEY: 3600.0}, {KEY}, QUICK)
    until(lambda: running.runs[KEY] == 1, "the probe that holds the only thread")
    schedule.apply({KEY: 3600.0, other: 1.0}, {other}, QUICK)
    # The second one waits in the pool longer than its grace of a second.
    until(lambda: running.skipped[other, "overlap"] >= 2, "the probe that waits")
    running.release.set()
    until(lambda: running.skipped[other, "misfire"] >= 1, "a misfire")


def test_a_deleted_target_is_probed_no_more_and_another_keeps_its_time(
    running: Running, scheduled: Callable[[int], Schedule]
) -> None:
    running.release.set()
    schedule = scheduled(4)
    gone = ("gone", "short")
    schedule.apply({KEY: 0.2, gone: 0.2}, {KEY, gone}, QUICK)
    until(lambda: running.runs[gone] >= 2 and running.runs[KEY] >= 2, "both")
    schedule.apply({KEY: 0.2}, set(), QUICK)
    until(lambda: running.now[gone] == 0, "its last probe ends")
    after, others = running.runs[gone], running.runs[KEY]
    until(lambda: running.runs[KEY] >= others + 3, "the other goes on")
    # One may have been handed to the pool before the deletion.
    assert running.runs[gone] <= after + 1


def test_own_work_is_repeated_and_never_counted_as_a_probe(
    running: Running, scheduled: Callable[[int], Schedule]
) -> None:
    done = Counter[str]()
    schedule = scheduled(1)
    schedule.every(0.05, lambda: done.update(["done"]))
    until(lambda: done["done"] >= 3, "own work")
    assert not running.skipped and not running.runs

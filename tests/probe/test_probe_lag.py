"""The process's own lag, and the probes that it taints."""

import threading
from collections.abc import Iterator

import pytest
from hostile import HostileServer
from probe_helpers import scenario, target, until

from exporters.probe.asking import lag
from exporters.probe.asking.lag import STEP_SECONDS, LagMonitor, tainted
from exporters.probe.asking.run import ProbeResult, run_probe


class Clock:
    """A clock that only sleeping moves, by what was asked for and what comes on top."""

    def __init__(self) -> None:
        self.now = 100.0
        self.late = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds + self.late


@pytest.fixture
def clock() -> Clock:
    return Clock()


def held_up_once(clock: Clock, late: float) -> tuple[LagMonitor, float, float]:
    """Return a monitor that overslept once among many sleeps, and when that began and ended."""
    monitor = LagMonitor(clock, clock.sleep)
    for _ in range(20):
        monitor.beat()
    began, clock.late = clock.now + STEP_SECONDS, late
    monitor.beat()
    ended, clock.late = clock.now, 0.0
    for _ in range(20):
        monitor.beat()
    return monitor, began, ended


def test_a_moment_is_found_again_by_its_time(clock: Clock) -> None:
    monitor, began, ended = held_up_once(clock, 0.1)
    assert monitor.held_up((began + ended) / 2) == pytest.approx(0.1)
    assert monitor.held_up(ended) == pytest.approx(0.1)
    assert monitor.held_up(began - 0.05) == monitor.held_up(ended + 0.05) == 0.0


def test_each_of_many_moments_is_found(clock: Clock) -> None:
    monitor = LagMonitor(clock, clock.sleep)
    moments = []
    for late in (0.1, 0.2, 0.01, 0.3):
        clock.late = late
        monitor.beat()
        moments.append((clock.now - late / 2, late))
        clock.late = 0.0
        for _ in range(10):
            monitor.beat()
    assert [monitor.held_up(at) for at, _ in moments] == [pytest.approx(late) for _, late in moments]


def test_what_still_lasts_counts_too(clock: Clock) -> None:
    """The stamp is judged while the canary still sleeps."""
    monitor = LagMonitor(clock, lambda _: held.append(monitor.held_up(began + 0.1)))
    held: list[float] = []
    began = clock.now

    def sleep(seconds: float) -> None:
        clock.now += 0.2
        held.append(monitor.held_up(began + 0.1))

    monitor = LagMonitor(clock, sleep)
    monitor.beat()
    assert held == [pytest.approx(0.2 - STEP_SECONDS)]


def test_the_histogram_counts_each_sleep(clock: Clock) -> None:
    assert LagMonitor().histogram() is None
    monitor, _, _ = held_up_once(clock, 0.03)
    histogram = monitor.histogram()
    assert histogram is not None
    assert sum(histogram.counts) == 41 and histogram.total == pytest.approx(0.03)
    assert histogram.counts[0] == 40 and histogram.counts[histogram.bounds.index(0.05)] == 1


@pytest.mark.parametrize(
    ("late", "first_token", "is_tainted"),
    [(0.015, 0.05, False), (0.03, 0.05, True), (0.03, 2.0, False), (0.3, 2.0, True), (0.03, None, True)],
)
def test_a_probe_is_tainted_by_what_its_times_cannot_bear(
    clock: Clock, late: float, first_token: float | None, is_tainted: bool
) -> None:
    monitor, _, ended = held_up_once(clock, late)
    assert (tainted(monitor, (0.0, ended, 999.0), first_token) is not None) == is_tainted
    assert tainted(monitor, (0.0, ended + 1, 999.0), first_token) is None
    monitor.tolerated_seconds = 1.0
    assert tainted(monitor, (0.0, ended, 999.0), first_token) is None


@pytest.fixture
def lagging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that is held up all the time."""
    monitor = LagMonitor()
    monkeypatch.setattr(monitor, "held_up", lambda at: 5.0)
    monkeypatch.setattr("exporters.probe.asking.run.MONITOR", monitor)
    yield


def probe(hostile: HostileServer, name: str) -> ProbeResult:
    return run_probe(target(hostile.url(name)), "short", scenario("60s"), "m")


@pytest.mark.usefixtures("lagging")
def test_only_a_success_becomes_tainted(hostile: HostileServer) -> None:
    result = probe(hostile, "good")
    assert (result.outcome, result.output_tokens) == ("tainted", 5)
    assert "5000 ms" in result.detail
    assert probe(hostile, "truncated").outcome == "truncated"


def test_a_monitor_measures_until_it_is_stopped() -> None:
    before = {thread.name for thread in threading.enumerate()}
    monitor = LagMonitor()
    monitor.start()
    monitor.start()
    until(lambda: (found := monitor.histogram()) is not None and sum(found.counts) > 3, "it measures")
    assert sum(thread.name == "probe-lag" for thread in threading.enumerate()) == 1 + ("probe-lag" in before)
    monitor.stop()
    assert {thread.name for thread in threading.enumerate()} <= before
    monitor.start()
    monitor.stop()
    assert {thread.name for thread in threading.enumerate()} <= before


def test_nothing_measures_unless_it_was_started() -> None:
    assert lag.MONITOR.held_up(0.0) == 0.0

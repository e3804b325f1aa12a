"""When `/probe` shows a result instead of running a probe: not what only a short scrape failed, and not for ever."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hostile import HostileServer
from probe_helpers import PATIENCE, until
from test_probe_oneshot import Asked, probes, shown

from exporters.probe.asking.run import ProbeResult
from exporters.probe.views.oneshot import AT_ONCE
from exporters.probe.wire.deadline import expire_all
from inferwatch.exposition import Response


@pytest.fixture(autouse=True)
def no_requests(hostile: HostileServer) -> None:
    hostile.requests.clear()


@pytest.mark.parametrize("first", [{}, {"debug": "1"}])
def test_what_a_short_scrape_fails_is_shown_to_no_longer_one(hostile: HostileServer, first: dict[str, str]) -> None:
    asked = Asked(hostile.url("slow"))
    # Its first token comes after half a second.
    asked(seconds="0.7", **first)
    assert shown(asked(seconds="0.7"))["probe_success"] == 0 and probes(hostile) == 1
    found = shown(asked(seconds="30"))
    assert (found["probe_success"], found["probe_timeout_seconds"], probes(hostile)) == (1, 29.5, 2)
    # What succeeded would have with more time too, and the shorter scrape need not try again.
    for seconds in (None, "30", "0.7"):
        found = shown(asked(seconds=seconds))
        assert (found["probe_success"], found["probe_timeout_seconds"], probes(hostile)) == (1, 29.5, 2)


def test_a_failure_that_had_enough_time_is_shared(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("broken"))
    for seconds in ("30", "30", "10"):
        found = shown(asked(seconds=seconds))
        assert (found["probe_success"], found["probe_timeout_seconds"], probes(hostile)) == (0, 29.5, 1)
    assert shown(asked())["probe_timeout_seconds"] == 60 and probes(hostile) == 2


def test_of_the_schedule_s_result_and_another_the_newest_is_shown(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("good"), "timeout: 20s")
    found = shown(asked())
    asked.prober.run(("chat", "short"))
    later = shown(asked())
    assert "probe_duration_seconds" in found and "probe_duration_seconds" not in later
    assert (later["probe_timeout_seconds"], probes(hostile)) == (20, 2)


def test_a_kept_connection_that_the_server_had_closed_is_no_answer(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("good"))
    stale = ProbeResult("chat", "short", "m", "tainted", "nothing was measured", stale_connection=True)
    asked.prober.plans()["chat", "short"].record.end(stale, asked.config.targets[0].slo, time.time())
    assert "probe_llm_ttft_seconds" in shown(asked()) and probes(hostile) == 1


class Waiting:
    """Requests that are asked on threads of their own, and what they were answered."""

    def __init__(self) -> None:
        self.answers: list[Response] = []
        self._threads: list[threading.Thread] = []

    def ask(self, asked: Asked, seconds: str | None = None, **query: str) -> None:
        thread = threading.Thread(target=lambda: self.answers.append(asked(seconds, **query)))
        self._threads.append(thread)
        thread.start()

    def end(self) -> None:
        """Interrupt what runs, until all were answered."""

        def ended() -> bool:
            expire_all()
            return not any(thread.is_alive() for thread in self._threads)

        until(ended, "every request is answered")


@contextmanager
def waiting() -> Iterator[Waiting]:
    requests = Waiting()
    try:
        yield requests
    finally:
        requests.end()


def test_a_scrape_waits_for_another_no_longer_than_it_may(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("silent"))
    with waiting() as others:
        others.ask(asked)
        until(lambda: probes(hostile) == 1, "the first probe runs")
        answer = asked(seconds="0.7")
        assert (answer.status, answer.body) == (503, "a probe of chat still runs for another scrape\n")
        assert probes(hostile) == 1


def test_a_scrape_that_waited_probes_within_what_is_left(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(hostile.url("silent"))
    must_wait = threading.Event()

    class Told:
        """A lock that tells when it was not free."""

        def __init__(self) -> None:
            self._lock = threading.Lock()
            self.release = self._lock.release

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            taken = self._lock.acquire(blocking, timeout)
            if not taken:
                must_wait.set()
            return taken

    lock = Told()
    monkeypatch.setattr(asked.shots, "_lock_of", lambda _: lock)
    with waiting() as others:
        others.ask(asked, "20")
        until(lambda: probes(hostile) == 1, "the first probe runs")
        others.ask(asked, "30")
        assert must_wait.wait(PATIENCE)
        expire_all()
        # What failed within 19.5 s is no answer to one that has more.
        until(lambda: probes(hostile) == 2, "the second probe runs")
    first, second = sorted(shown(answer)["probe_timeout_seconds"] for answer in others.answers)
    assert first == 19.5 < second < 29.5


def test_only_so_many_run_at_once(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("silent"))
    with waiting() as others:
        for _ in range(AT_ONCE):
            others.ask(asked, debug="1")
        until(lambda: probes(hostile) == AT_ONCE, "as many as may run do")
        answer = asked()
        assert (answer.status, answer.body) == (503, "4 probes run on request already; ask again\n")
        assert probes(hostile) == AT_ONCE
    # Those that ended make room.
    assert shown(asked(scenario="other", seconds="0.7"))["probe_success"] == 0

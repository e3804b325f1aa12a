"""`/probe?target=&scenario=`: one probe for one scrape, in the manner of blackbox_exporter."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from exporters.probe.asking.run import ProbeResult
from exporters.probe.asking.transcript import Transcript
from exporters.probe.scheduling.prober import Prober
from exporters.probe.targets.time_left import SHORTEST_SECONDS
from exporters.probe.views.any_target import AnyTarget
from exporters.probe.views.explain import explained
from exporters.probe.views.oneshot_metrics import OneShotCollector
from exporters.probe.views.oneshot_request import Question, Wanted, last, wanted_by
from exporters.probe.views.quoted import Quoted
from inferwatch.config import Config
from inferwatch.exposition import Request, Response

AT_ONCE = 4
# Results of URLs that no configuration names, which anyone may make up.
MOST_RESULTS_OF_URLS = 64


@dataclass(frozen=True)
class _Ended:
    """A probe that ended.

    Attributes:
        question: What it asked.
        result: What it measured.
        at: When it ended, in monotonic seconds.
        had: The timeout that each of its requests had, in seconds.
        took: How long it took, in seconds; None if the schedule ran it.
        configured: Whether the configuration names its target.
    """

    question: Question
    result: ProbeResult
    at: float
    had: float
    took: float | None = None
    configured: bool = True

    def answers(self, wanted: Wanted) -> bool:
        """Say whether it may be shown instead of a probe: what more time might have made good is no answer."""
        if self.question != wanted.question or self.result.stale_connection:
            return False
        young = time.monotonic() - self.at < (wanted.scenario.interval or 60.0)
        return young and (self.result.outcome == "success" or self.had >= wanted.timeout)


class OneShots:
    """Runs probes on request; a result is shared for an interval, so that two Prometheus servers do not spend twice.

    Args:
        config: Returns the configuration in force.
        prober: Runs the probes of its targets, within their budgets.
        any_target: Runs those of other URLs; None refuses them.
        quotes: Whether an explanation shows prompts and answers.
    """

    def __init__(
        self,
        config: Callable[[], Config | None],
        prober: Prober,
        any_target: AnyTarget | None = None,
        *,
        quotes: bool = False,
    ) -> None:
        self._config = config
        self._prober = prober
        self._any_target = any_target
        self._quotes = quotes
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str], threading.Lock] = {}
        self._results: dict[tuple[str, str], _Ended] = {}
        self._free = threading.Semaphore(AT_ONCE)

    def answer(self, request: Request) -> Response:
        """Answer `/probe`: metrics of one probe, or with `debug=1` a page that explains a probe run for it."""
        config = self._config()
        if config is None:
            return _refused("no configuration was ever good; see the log")
        wanted = wanted_by(request, config, any_target=self._any_target is not None)
        if isinstance(wanted, str):
            return Response(wanted + "\n", status=HTTPStatus.BAD_REQUEST)
        if last(request, "debug") in ("1", "true"):
            return self._explain(wanted)
        return self._measure(wanted, request.headers.get("accept"))

    def _measure(self, wanted: Wanted, accept: str | None) -> Response:
        found = self._shared(wanted)
        if isinstance(found, str):
            return _refused(found)
        registry = CollectorRegistry()
        age = max(time.monotonic() - found.at, 0.0)
        registry.register(OneShotCollector(found.result, found.had, age, found.took))
        encoder, content_type = choose_encoder(accept or "")
        return Response(encoder(registry).decode(), content_type)

    def _shared(self, wanted: Wanted) -> _Ended | str:
        """Return a result of the interval, or that of a probe run for it, or why there is none; all within its time."""
        busy = f"a probe of {wanted.target.name} still runs for another scrape"
        asked_at = time.monotonic()
        lock = self._lock_of(wanted)
        waits = not lock.acquire(blocking=False)
        if waits and not lock.acquire(timeout=wanted.seconds):
            return busy
        try:
            # Who did not wait has all of the time to the digit, so that the results of like scrapes are shared.
            left = wanted.seconds - (time.monotonic() - asked_at) if waits else wanted.seconds
            wanted = wanted.within(left)
            found = self._fresh(wanted)
            if found is None and left < SHORTEST_SECONDS:
                return busy
            return found or self._run(wanted)
        finally:
            lock.release()

    def _explain(self, wanted: Wanted) -> Response:
        transcript = Transcript()
        found = self._run(wanted, transcript)
        if isinstance(found, str):
            return _refused(found)
        # What any URL answers is shown to nobody: it may be of a service that only this machine reaches.
        quotes = self._quotes and wanted.configured
        quoted = Quoted(wanted.target, transcript)
        return Response(explained(found.result, wanted.scenario, transcript, quoted, quotes=quotes))

    def _fresh(self, wanted: Wanted) -> _Ended | None:
        """Return the newest result that may be shown instead: of another request, or of the schedule."""
        known = (self._results.get(wanted.key), self._scheduled(wanted))
        answers = [ended for ended in known if ended is not None and ended.answers(wanted)]
        return max(answers, key=lambda ended: ended.at, default=None)

    def _scheduled(self, wanted: Wanted) -> _Ended | None:
        plan = self._prober.plans().get(wanted.key)
        if plan is None or plan.target != wanted.target:
            return None
        series = plan.record.snapshot()[1]
        if series.last is None or series.last_ended_at is None:
            return None
        age = max(time.time() - series.last_ended_at, 0.0)
        return _Ended(wanted.question, series.last, time.monotonic() - age, plan.scenario.timeout or 60.0)

    def _run(self, wanted: Wanted, transcript: Transcript | None = None) -> _Ended | str:
        """Run a probe, or say why not."""
        if not self._free.acquire(blocking=False):
            return f"{AT_ONCE} probes run on request already; ask again"
        try:
            began = time.monotonic()
            runner = self._prober.once if wanted.configured or self._any_target is None else self._any_target.run
            found = runner(wanted.target, wanted.name, wanted.scenario, transcript)
            if isinstance(found, str):
                return found
            now = time.monotonic()
            ended = _Ended(wanted.question, found, now, wanted.timeout, now - began, wanted.configured)
            with self._lock:
                self._results.pop(wanted.key, None)
                self._results[wanted.key] = ended  # behind the others, which are older
            return ended
        finally:
            self._free.release()

    def _lock_of(self, wanted: Wanted) -> threading.Lock:
        config = self._config() or Config()
        with self._lock:
            # Names that were configured once, and URLs, would add up.
            names = {target.name for target in config.targets}
            urls = [key for key, ended in self._results.items() if not ended.configured]
            kept = {key for key in self._results if key[0] in names}.union(urls[-MOST_RESULTS_OF_URLS:])
            self._results = {key: ended for key, ended in self._results.items() if key in kept}
            self._running = {
                key: lock for key, lock in self._running.items() if key[0] in names or key in kept or lock.locked()
            }
            return self._running.setdefault(wanted.key, threading.Lock())


def _refused(sentence: str) -> Response:
    return Response(sentence + "\n", status=HTTPStatus.SERVICE_UNAVAILABLE)

"""`/probe?target=&scenario=`: one probe for one scrape, in the manner of blackbox_exporter."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from prometheus_client import CollectorRegistry
from prometheus_client import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from exporters.probe import oneshot_metrics as metrics
from exporters.probe.explain import explained
from exporters.probe.families import Families
from exporters.probe.prober import Prober
from exporters.probe.run import ProbeResult
from exporters.probe.timeline import Answer
from inferwatch.config import Config, Scenario, Target
from inferwatch.exposition import Request, Response

TIMEOUT_HEADER = "x-prometheus-scrape-timeout-seconds"
# What is left of the scrape's timeout for the way back.
TIMEOUT_OFFSET = 0.5
SHORTEST_TIMEOUT = 0.1
AT_ONCE = 4


@dataclass(frozen=True)
class _Wanted:
    target: Target
    name: str
    scenario: Scenario  # its timeout is the effective one

    @property
    def key(self) -> tuple[str, str]:
        return self.target.name, self.name

    @property
    def question(self) -> tuple[Target, str, Scenario]:
        """What a result must be an answer to, to be shared; a scrape may leave less time, as long as it sufficed."""
        return self.target, self.name, self.scenario.model_copy(update={"timeout": None})


@dataclass(frozen=True)
class _Ended:
    """A probe that ended, `at` in monotonic seconds, and what it answered."""

    question: tuple[Target, str, Scenario]
    result: ProbeResult
    at: float
    took: float


class OneShots:
    """Runs probes on request; a result is shared for an interval, so that two Prometheus servers do not spend twice.

    Args:
        config: Returns the configuration in force; only its targets are probed, since a probe carries their keys.
        prober: Runs the probes, within its budgets.
    """

    def __init__(self, config: Callable[[], Config | None], prober: Prober) -> None:
        self._config = config
        self._prober = prober
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str], threading.Lock] = {}
        self._ended: dict[tuple[str, str], _Ended] = {}
        self._free = threading.Semaphore(AT_ONCE)

    def answer(self, request: Request) -> Response:
        """Answer `/probe`: metrics of one probe, or with `debug=1` a page that explains a probe run for it."""
        config = self._config()
        wanted = _wanted(config, request) if config else "no configuration was ever good; see the log"
        if isinstance(wanted, str):
            status = HTTPStatus.BAD_REQUEST if config else HTTPStatus.SERVICE_UNAVAILABLE
            return Response(wanted + "\n", status=status)
        if _last(request, "debug") in ("1", "true"):
            return self._explain(wanted)
        return self._measure(wanted, request.headers.get("accept"))

    def _measure(self, wanted: _Wanted, accept: str | None) -> Response:
        deadline = wanted.scenario.timeout or SHORTEST_TIMEOUT
        lock = self._lock_of(wanted)
        if not lock.acquire(timeout=deadline):
            return _refused(f"a probe of {wanted.target.name} still runs for another scrape")
        try:
            found = self._fresh(wanted) or self._run(wanted)
        finally:
            lock.release()
        if isinstance(found, str):
            return _refused(found)
        registry = CollectorRegistry()
        registry.register(_OneShotCollector(found, deadline))
        encoder, content_type = choose_encoder(accept or "")
        return Response(encoder(registry).decode(), content_type)

    def _explain(self, wanted: _Wanted) -> Response:
        answers: list[Answer] = []
        found = self._run(wanted, answers.append)
        if isinstance(found, str):
            return _refused(found)
        return Response(explained(found.result, wanted.scenario, answers))

    def _fresh(self, wanted: _Wanted) -> _Ended | None:
        """Return a result that is younger than the interval: of another scrape, or of the schedule."""
        now, interval = time.monotonic(), wanted.scenario.interval or 60.0
        ended = self._ended.get(wanted.key)
        if ended is not None and ended.question == wanted.question and now - ended.at < interval:
            return ended
        plan = self._prober.plans().get(wanted.key)
        if plan is None or plan.target != wanted.target:
            return None
        series = plan.record.snapshot()[1]
        if series.last is None or series.last_ended_at is None:
            return None
        age = max(time.time() - series.last_ended_at, 0.0)
        return _Ended(wanted.question, series.last, now - age, 0.0) if age < interval else None

    def _run(self, wanted: _Wanted, watch: Callable[[Answer], None] | None = None) -> _Ended | str:
        """Run a probe, or say why not."""
        if not self._free.acquire(blocking=False):
            return f"{AT_ONCE} probes run on request already; ask again"
        try:
            began = time.monotonic()
            found = self._prober.once(wanted.target, wanted.name, wanted.scenario, watch)
            if isinstance(found, str):
                return found
            ended = _Ended(wanted.question, found, time.monotonic(), time.monotonic() - began)
            with self._lock:
                self._ended[wanted.key] = ended
            return ended
        finally:
            self._free.release()

    def _lock_of(self, wanted: _Wanted) -> threading.Lock:
        config = self._config() or Config()
        with self._lock:
            # Names that were configured once would add up.
            names = {target.name for target in config.targets}
            self._ended = {key: ended for key, ended in self._ended.items() if key[0] in names}
            self._running = {key: lock for key, lock in self._running.items() if key[0] in names or lock.locked()}
            return self._running.setdefault(wanted.key, threading.Lock())


class _OneShotCollector(Collector):
    def __init__(self, ended: _Ended, timeout: float) -> None:
        self._ended = ended
        self._timeout = timeout

    def collect(self) -> list[Family]:
        families, result = Families(), self._ended.result
        families.add(metrics.SUCCESS, {}, result.outcome == "success")
        families.add(metrics.TIMEOUT, {}, self._timeout)
        families.add(metrics.AGE, {}, max(time.monotonic() - self._ended.at, 0.0))
        info = {"outcome": result.outcome, "model_name": result.model_name, "scenario": result.scenario}
        families.add(metrics.OUTCOME_INFO, info, 1)
        figures = {
            metrics.DURATION: self._ended.took or None,
            metrics.STATUS: result.status_code,
            metrics.TTFT: result.ttft_seconds,
            metrics.TPOT: result.tpot_seconds,
            metrics.E2E: result.e2e_seconds,
            metrics.OUTPUT_TOKENS: result.output_tokens,
            metrics.PROMPT_TOKENS: result.prompt_tokens,
        }
        for metric, value in figures.items():
            if value is not None:
                families.add(metric, {}, value)
        for phase, seconds in result.phases.items():
            families.add(metrics.PHASE, {"phase": phase}, seconds)
        return families.all()


def _wanted(config: Config, request: Request) -> _Wanted | str:
    """Return what a request asks for, or a sentence that says what is wrong with it."""
    name = _last(request, "target")
    target = next((one for one in config.targets if one.name == name), None)
    if target is None:
        known = ", ".join(one.name for one in config.targets[:20]) or "none"
        return f"target= must be a target of the configuration ({known}), since probes carry its key"
    own = config.scenarios_of(target)
    scenario_name = _last(request, "scenario") or next(iter(own))
    if scenario_name not in config.all_scenarios:
        return f"scenario= must be one of {', '.join(sorted(config.all_scenarios))}"
    if scenario_name not in own:
        own = config.scenarios_of(target.model_copy(update={"scenarios": [scenario_name]}))
    scenario = own[scenario_name]
    timeout = scenario.timeout or 60.0
    given = _seconds(request.headers)
    if given is not None:
        timeout = max(min(timeout, given - TIMEOUT_OFFSET), SHORTEST_TIMEOUT)
    return _Wanted(target, scenario_name, scenario.model_copy(update={"timeout": timeout}))


def _seconds(headers: Mapping[str, str]) -> float | None:
    try:
        seconds = float(headers.get(TIMEOUT_HEADER, ""))
    except ValueError:
        return None
    return seconds if 0 < seconds < float("inf") else None


def _last(request: Request, name: str) -> str:
    return request.query.get(name, [""])[-1]


def _refused(sentence: str) -> Response:
    return Response(sentence + "\n", status=HTTPStatus.SERVICE_UNAVAILABLE)

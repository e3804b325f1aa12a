"""The probe exporter put together: configuration -> schedule -> probes -> records -> `/metrics` and `/sd/*`."""

import logging
import platform
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from exporters.probe import metrics
from exporters.probe.asking.lag import MONITOR
from exporters.probe.key import server_of
from exporters.probe.reload import ConfigKeeper
from exporters.probe.scheduling.paused import PausedCollector
from exporters.probe.scheduling.prober import Prober
from exporters.probe.scheduling.schedule import Schedule
from exporters.probe.series.configured import ConfiguredCollector
from exporters.probe.series.cost import CostMeter
from exporters.probe.series.families import Families
from exporters.probe.series.found import FoundCollector
from exporters.probe.series.rendered import RenderedMetrics
from exporters.probe.state import own_seed
from exporters.probe.steps import Steps
from exporters.probe.targets import discovery
from exporters.probe.targets.engine_kinds import EngineKinds
from exporters.probe.targets.naps import Naps
from exporters.probe.targets.versions import ServerVersions
from exporters.probe.views.any_target import AnyTarget
from exporters.probe.views.oneshot import OneShots
from exporters.probe.views.pages import TargetsPage
from exporters.probe.wire.deadline import expire_all
from inferwatch import __version__
from inferwatch.config import Config, Target
from inferwatch.exposition import ExpositionServer, Request, Response, Route
from inferwatch.web_config.health import WebConfigHealth
from inferwatch.web_config.keeper import WebConfigKeeper

log = logging.getLogger(__name__)

WATCH_SECONDS = 1.0
REFRESH_SECONDS = 5.0
# The scheduler is taken for dead when its own work was not done for this long.
DEAD_AFTER_SECONDS = 30.0
STOP_WITHIN_SECONDS = 3.0


class ProbeExporter:
    """One process's probe exporter; `start`, then `stop`.

    Args:
        config_file: The file that the user edits.
        state_folder: Where the copy of the last good configuration and today's spending are kept; None keeps none.
        listen: ``host:port``.
        web: Who may ask, and how; None serves everyone over plain HTTP.
        any_target_tokens: How many tokens a day probes of URLs that are not configured may use; 0 refuses them.
        quotes: Whether `/probe?debug=1` shows prompts and answers.

    Raises:
        InferwatchError: If the address cannot be listened on.
    """

    def __init__(
        self,
        config_file: Path,
        state_folder: Path | None,
        listen: str,
        web: WebConfigKeeper | None = None,
        *,
        any_target_tokens: int = 0,
        quotes: bool = False,
    ) -> None:
        self._kinds = EngineKinds()
        self._prober = Prober(state_folder=state_folder, naps=Naps(self._kinds.name_of))
        self._meter = CostMeter()
        self._versions = ServerVersions(self._kinds.of, self._prober.succeeded_at, self._saw_version)
        self._schedule: Schedule | None = None
        self._max_concurrent = 0
        self._state_folder = state_folder
        self._watched_at = time.monotonic()
        self._steps = Steps()
        self.keeper = ConfigKeeper(config_file, state_folder, self._apply)
        self._any_target = AnyTarget(any_target_tokens, state_folder) if any_target_tokens else None
        self._oneshots = OneShots(self._config, self._prober, self._any_target, quotes=quotes)
        registry = CollectorRegistry()
        prober = self._prober
        self._rendered = RenderedMetrics(prober.records, prober.intervals, prober.inflight, registry)
        registry.register(
            FoundCollector(prober.refusals.by_target, prober.identities.all, prober.responses.all, MONITOR.histogram)
        )
        registry.register(PausedCollector(self._config, prober.spending, prober.manners, prober.naps))
        registry.register(ConfiguredCollector(self._config, self._kinds, self._meter))
        registry.register(_HealthCollector(self.keeper, prober.on_request))
        if web is not None:
            registry.register(WebConfigHealth(web, metrics.WEB_CONFIG_RELOAD_SUCCESSFUL))
        self._server = ExpositionServer("probe-exporter", listen, self._rendered, self._routes(), self._health, web)

    @property
    def address(self) -> str:
        """Where it listens, ``host:port``."""
        return self._server.address

    def start(self) -> None:
        """Read the configuration, and begin to probe and to answer."""
        self.keeper.start()
        self._max_concurrent = (self.keeper.config or Config()).prober.max_concurrent
        seed = own_seed(self._state_folder)
        schedule = Schedule(self._max_concurrent, self._prober.run, self._prober.skip, seed)
        schedule.apply(self._prober.intervals(), set(self._prober.intervals()), self._prober.lasting())
        self._schedule = schedule
        schedule.every(WATCH_SECONDS, self._watch)
        schedule.every(REFRESH_SECONDS, self._refresh)
        MONITOR.start()
        schedule.start()
        self._server.start()

    def stop(self) -> None:
        """Start no more probes, interrupt those that run, and answer no more."""
        self._prober.stop()
        MONITOR.stop()
        if self._schedule is not None:
            self._schedule.stop()
        give_up = time.monotonic() + STOP_WITHIN_SECONDS
        expire_all()
        while self._prober.inflight() + self._prober.on_request() and time.monotonic() < give_up:
            time.sleep(0.02)
            expire_all()
        self._save()
        self._server.stop()

    def _config(self) -> Config | None:
        return self.keeper.config

    def _apply(self, config: Config) -> None:
        fresh = self._prober.apply(config)
        self._meter.apply(config)
        self._versions.apply(config)
        MONITOR.tolerated_seconds = config.prober.max_lag
        if self._schedule is None:
            return
        self._schedule.apply(self._prober.intervals(), fresh, self._prober.lasting())
        if config.prober.max_concurrent != self._max_concurrent:
            log.warning("prober.max_concurrent stays %d until this process is restarted", self._max_concurrent)

    def _watch(self) -> None:
        self._watched_at = time.monotonic()
        self._steps.run("reading the configuration", self.keeper.poll)
        self._steps.run("adding up costs", self._meter.tick)
        self._steps.run("keeping the state", self._save)
        self._steps.run("rendering /metrics", self._rendered.refresh)

    def _save(self) -> None:
        self._prober.save()
        if self._any_target is not None:
            self._any_target.save()

    def _refresh(self) -> None:
        config = self.keeper.config
        self._steps.run("recognising engines", lambda: self._kinds.refresh(config))
        self._steps.run("asking for versions", lambda: self._versions.refresh(config))

    def _saw_version(self, target: Target, version: str) -> None:
        config = self.keeper.config
        # It may have been asked before a reload, since which the target is another server.
        there = config is not None and server_of(target) in map(server_of, config.targets)
        if there and self._prober.identities.saw_version(target.name, version):
            log.warning("target %s: its server is of another version than before: %s", target.name, version)

    def _health(self) -> str | None:
        silent = time.monotonic() - self._watched_at
        if silent > DEAD_AFTER_SECONDS:
            return f"the scheduler has done nothing for {silent:.0f} s, so nothing is probed; restart this process"
        return None

    def _routes(self) -> list[Route]:
        def engines(config: Config, request: Request) -> discovery.Groups:
            (auth,) = request.query.get("auth", [None])[-1:]
            return discovery.engines(config, self._kinds, self._prober.model_of, auth)

        def gpus(config: Config, _: Request) -> discovery.Groups:
            return discovery.gpus(config)

        return [
            Route("/sd/engines", discovery.answer(self._config, engines), title="Engines that Prometheus scrapes"),
            Route("/sd/gpus", discovery.answer(self._config, gpus), title="GPU exporters of other machines"),
            Route("/targets", TargetsPage(self._config, self._prober).answer, title="The last probes of each target"),
            Route("/probe", self._oneshots.answer, costs=True),
            Route("/-/reload", self._reload, method="POST"),
        ]

    def _reload(self, _: Request) -> Response:
        error = self.keeper.reload()
        if error is None:
            return Response("the configuration is in force\n")
        return Response(f"{error}\n", status=HTTPStatus.INTERNAL_SERVER_ERROR)


class _HealthCollector(Collector):
    """Yields `llm_probe_exporter_*` about the process and its configuration, and how many probes run on request."""

    def __init__(self, keeper: ConfigKeeper, on_request: Callable[[], int]) -> None:
        self._keeper = keeper
        self._on_request = on_request

    def collect(self) -> Iterable[Family]:
        """Return one family per metric."""
        families = Families()
        versions = {"version": __version__, "python_version": platform.python_version()}
        families.add(metrics.BUILD_INFO, versions, 1)
        families.add(metrics.CONFIG_RELOAD_SUCCESSFUL, {}, self._keeper.successful)
        families.add(metrics.CONFIG_FROM_STATE, {}, self._keeper.from_state)
        families.add(metrics.INFLIGHT_ON_REQUEST, {}, self._on_request())
        if self._keeper.loaded_at is not None:
            families.add(metrics.CONFIG_RELOAD_TIMESTAMP, {}, self._keeper.loaded_at)
        return families.all()

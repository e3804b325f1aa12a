"""What Prometheus should scrape, as its HTTP service discovery wants it, and which engine is at each address."""

import json
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from exporters.probe.failures import ProbeError
from exporters.probe.reader import get
from inferwatch.config import Config, Target
from inferwatch.engines import Engine, load_engines, recognise
from inferwatch.exposition import JSON, Request, Response

log = logging.getLogger(__name__)

UNKNOWN = "unknown"
FETCH_TIMEOUT = 3.0
LARGEST_METRICS_PAGE = 16 << 20
# An unknown engine is asked again soon, a known one now and then, since another may be started at its address.
RETRY_SECONDS = 15.0
RECHECK_SECONDS = 300.0
_AT_ONCE = 8


@dataclass(frozen=True)
class _Seen:
    """What an address answered: the engine, if its metrics were recognised, and when to ask again."""

    engine: Engine | None
    again_at: float


class EngineDiscovery:
    """Recognises the engines of targets with `engine: auto` by their metrics, in the background.

    Args:
        clock: Returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, _Seen] = {}

    def refresh(self, config: Config | None) -> None:
        """Ask every address that is due; takes at most a few seconds per eight addresses that do not answer."""
        wanted = [
            url for target in (config.targets if config else ()) if target.engine == "auto" for url in target.metrics
        ]
        now = self._clock()
        with self._lock:
            self._seen = {url: seen for url, seen in self._seen.items() if url in wanted}
            due = [url for url in wanted if url not in self._seen or self._seen[url].again_at <= now]
        if due:
            with ThreadPoolExecutor(min(_AT_ONCE, len(due)), "recognise") as pool:
                list(pool.map(self._ask, due))

    def engine_at(self, target: Target, url: str) -> Engine | None:
        """Return the engine at a metrics address: the configured one, or the one that was recognised there."""
        if target.engine != "auto":
            return load_engines()[target.engine]
        seen = self._seen.get(url)
        return seen.engine if seen else None

    def engine_of(self, target: Target) -> str:
        """Return the name of the target's engine, or "unknown"."""
        if target.engine != "auto":
            return target.engine
        engines = [engine for url in target.metrics if (engine := self.engine_at(target, url)) is not None]
        return engines[0].name if engines else UNKNOWN

    def _ask(self, url: str) -> None:
        before = self._seen.get(url)
        try:
            page = get(url, {"Accept": "text/plain"}, FETCH_TIMEOUT, LARGEST_METRICS_PAGE)
            engine = recognise(page.decode("utf-8", "replace"))
        except ProbeError as error:
            # An engine that is down is still the engine that it was.
            engine = before.engine if before else None
            log.debug("%s is not recognised now: %s", url, error)
        if engine is not None and (before is None or before.engine != engine):
            log.info("the metrics of %s are those of %s", url, engine.title)
        again = self._clock() + (RETRY_SECONDS if engine is None else RECHECK_SECONDS)
        with self._lock:
            self._seen[url] = _Seen(engine, again)


def engines(config: Config, discovery: EngineDiscovery, model_of: Callable[[Target], str]) -> list[dict[str, object]]:
    """Return the target groups of the job `llm-engine`: one per metrics address."""
    groups: list[dict[str, object]] = []
    for target in config.targets:
        for url in target.metrics:
            parts = urlsplit(url)
            labels = {"target": target.name, "__scheme__": parts.scheme, "__metrics_path__": parts.path}
            if target.gpus is not None and target.gpus.node is not None:
                labels["node"] = target.gpus.node
            engine, model = discovery.engine_at(target, url), model_of(target)
            # On an engine with a label of its own, ours would turn that one into exported_model_name.
            if engine is not None and not engine.own_model_name and model:
                labels["model_name"] = model
            host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
            port = parts.port or (443 if parts.scheme == "https" else 80)
            groups.append({"targets": [f"{host}:{port}"], "labels": labels})
    return groups


def gpus(config: Config) -> list[dict[str, object]]:
    """Return the target groups of the job `gpu` beside the stack's own exporter."""
    return [{"targets": [exporter.address], "labels": {"node": exporter.node}} for exporter in config.gpu_exporters]


def answer(
    config: Callable[[], Config | None], groups: Callable[[Config], list[dict[str, object]]]
) -> Callable[[Request], Response]:
    """Return a route that serves groups as JSON.

    Without a configuration it answers 503: Prometheus then keeps what it has, while it would drop all on an empty list.
    """

    def route(_: Request) -> Response:
        in_force = config()
        if in_force is None:
            text = "no configuration was ever good; see the log and llm_probe_exporter_config_last_reload_successful\n"
            return Response(text, status=HTTPStatus.SERVICE_UNAVAILABLE)
        return Response(json.dumps(groups(in_force), indent=1) + "\n", JSON)

    return route

"""Remembers which engine is at each address of the configuration, and asks again in the background."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from exporters.probe.failures import ProbeError
from exporters.probe.steps import Steps
from exporters.probe.targets.recognition import SAYS, Recognised, by_metrics, by_server, origin
from exporters.probe.wire.way import way_to
from inferwatch.config import Config, Target
from inferwatch.engines import load_engines
from inferwatch.secrets import SecretError, auth_headers

log = logging.getLogger(__name__)

UNKNOWN = "unknown"
# What is not known is asked again soon, as it may be starting; a known engine now and then, since another may be
# started at its address; and a server that answers without saying what it is, such as a remote API, seldom.
RETRY_SECONDS = 15.0
RECHECK_SECONDS = 300.0
SILENT_SECONDS = 3600.0
_AT_ONCE = 8


@dataclass(frozen=True)
class _Place:
    """An address to ask: of metrics, or of a server (its base URL)."""

    url: str
    is_server: bool


@dataclass(frozen=True)
class _Seen:
    """What a place answered: the engine, if it was recognised, and when to ask again."""

    kind: Recognised | None
    again_at: float


class EngineKinds:
    """Recognises the engines of targets with `engine: auto`.

    A metrics address is asked for its metrics. The target's own server is asked too where that is the same server, or
    where the target has no metrics: behind a gateway, its address says nothing about the engines.

    Args:
        clock: Returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[_Place, _Seen] = {}
        self._steps = Steps()

    def refresh(self, config: Config | None) -> None:
        """Ask every address that is due; takes at most a few seconds per eight addresses that do not answer."""
        wanted = {place: target for target in (config.targets if config else ()) for place in _places(target)}
        now = self._clock()
        with self._lock:
            self._seen = {place: seen for place, seen in self._seen.items() if place in wanted}
            due = [place for place in wanted if place not in self._seen or self._seen[place].again_at <= now]
        if due:
            with ThreadPoolExecutor(min(_AT_ONCE, len(due)), "recognise") as pool:
                list(pool.map(lambda place: self._try(place, wanted[place]), due))

    def at(self, target: Target, url: str) -> Recognised | None:
        """Return the engine at a metrics address: the configured one, or the one that was recognised there."""
        if target.engine != "auto":
            return Recognised(load_engines()[target.engine], "configuration")
        return self._known(_Place(url, is_server=False)) or (
            self._known(_Place(target.url, is_server=True)) if origin(url) == origin(target.url) else None
        )

    def of(self, target: Target) -> Mapping[str, Recognised]:
        """Return what is known of a target, by address; without metrics addresses, by its own."""
        if target.metrics:
            found = {url: self.at(target, url) for url in target.metrics}
        elif target.engine != "auto":
            found = {target.url: Recognised(load_engines()[target.engine], "configuration")}
        else:
            found = {target.url: self._known(_Place(target.url, is_server=True))}
        return {url: kind for url, kind in found.items() if kind is not None}

    def name_of(self, target: Target) -> str:
        """Return the name of the target's engine, or "unknown"."""
        return next((kind.engine.name for kind in self.of(target).values()), UNKNOWN)

    def _known(self, place: _Place) -> Recognised | None:
        seen = self._seen.get(place)
        return seen.kind if seen else None

    def _try(self, place: _Place, target: Target) -> None:
        # What one place answers must not keep the others from being asked.
        self._steps.run(f"recognising the engine at {place.url}", lambda: self._ask(place, target))

    def _ask(self, place: _Place, target: Target) -> None:
        before = self._known(place)
        answered = True
        try:
            if place.is_server:
                kind = by_server(target.url, auth_headers(target.auth), way_to(target))
            else:
                kind = by_metrics(place.url)
        except (ProbeError, SecretError) as error:
            # An engine that is down is still the engine that it was.
            kind, answered = before, False
            log.debug("%s is not recognised now: %s", place.url, error)
        if kind is not None and kind != before:
            log.info("%s is %s, %s", place.url, kind.engine.title, SAYS[kind.by])
        pause = RECHECK_SECONDS if kind else SILENT_SECONDS if place.is_server and answered else RETRY_SECONDS
        with self._lock:
            self._seen[place] = _Seen(kind, self._clock() + pause)


def _places(target: Target) -> Iterator[_Place]:
    if target.engine != "auto":
        return
    # What starts a server for a request does so for this one too.
    asked = target.awake_url is None
    for url in target.metrics:
        yield _Place(url, is_server=False)
    if not asked:
        return
    if not target.metrics or any(origin(url) == origin(target.url) for url in target.metrics):
        yield _Place(target.url, is_server=True)

"""Which version the servers of each target run: asked now and then, in the documents that their engines serve."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from exporters.probe.failures import ProbeError
from exporters.probe.key import Server, server_of
from exporters.probe.protocols.base import label
from exporters.probe.redaction import Redaction
from exporters.probe.steps import Steps
from exporters.probe.targets.recognition import Recognised, ask, by_server, origin
from exporters.probe.wire.way import DIRECT, way_to
from inferwatch.config import Config, Target
from inferwatch.engines import Engine, load_engines
from inferwatch.secrets import SecretError, auth_headers

log = logging.getLogger(__name__)

RECHECK_SECONDS = 300.0
# A server that sleeps or is scaled to zero is not to be woken by this: it is asked right after a probe that succeeded.
AWAKE_SECONDS = 15.0
_AT_ONCE = 8


def version_at(target: Target, url: str, engine: Engine) -> str | None:
    """Return the version that an engine gives at an address of a target, or None.

    Args:
        target: Its key and certificates are used at its own server, and nowhere else.
        url: The target's own URL or one of its metrics addresses.
        engine: What is there.

    Raises:
        ProbeError: If no whole answer came.
        SecretError: If the key cannot be read.
    """
    own = origin(url) == origin(target.url)
    headers, way = (auth_headers(target.auth), way_to(target)) if own else ({}, DIRECT)
    for page in engine.detect.info:
        if page.version is None:
            continue
        document = ask(origin(url) + page.path, headers, way=way).document
        if isinstance(document, dict) and (version := label(document.get(page.version))):
            # It becomes a label and a line of the log.
            return Redaction(headers.values()).known(version)
    return None


def own_version(target: Target) -> str | None:
    """Return the version that a target's own server gives, recognising it first; None where it does not tell."""
    try:
        if target.engine != "auto":
            return version_at(target, target.url, load_engines()[target.engine])
        kind = by_server(target.url, auth_headers(target.auth), way_to(target))
        return version_at(target, target.url, kind.engine) if kind else None
    except (ProbeError, SecretError) as error:
        log.debug("target %s does not tell its version: %s", target.name, error)
        return None


class ServerVersions:
    """Asks the engines of targets for their versions.

    Args:
        engines: Returns what is known of a target's engines, by address.
        succeeded_at: Returns when a probe of a target succeeded last, in monotonic seconds; None if none did.
        saw: Is told a target as it was asked, and its version; several versions at once are joined with commas.
        clock: Returns monotonic seconds.
    """

    def __init__(
        self,
        engines: Callable[[Target], Mapping[str, Recognised]],
        succeeded_at: Callable[[str], float | None],
        saw: Callable[[Target, str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engines = engines
        self._succeeded_at = succeeded_at
        self._saw = saw
        self._clock = clock
        self._lock = threading.Lock()
        self._steps = Steps()
        self._again_at: dict[Server, float] = {}
        self._versions: dict[str, dict[str, str]] = {}  # by target and address

    def apply(self, config: Config) -> None:
        """Take a configuration over: a server that is not in it is asked at once if it is configured again."""
        servers = {server_of(target) for target in config.targets}
        names = {target.name for target in config.targets}
        with self._lock:
            self._again_at = {server: at for server, at in self._again_at.items() if server in servers}
            self._versions = {name: known for name, known in self._versions.items() if name in names}

    def refresh(self, config: Config | None) -> None:
        """Ask the targets that are due and awake; takes at most a few seconds per eight addresses without an answer."""
        now = self._clock()
        with self._lock:
            targets = config.targets if config else ()
            due = [target for target in targets if self._again_at.get(server_of(target), now) <= now]
        due = [target for target in due if self._awake(target.name)]
        if due:
            with ThreadPoolExecutor(min(_AT_ONCE, len(due)), "versions") as pool:
                list(pool.map(self._try, due))

    def _awake(self, name: str) -> bool:
        at = self._succeeded_at(name)
        return at is not None and self._clock() - at < AWAKE_SECONDS

    def _try(self, target: Target) -> None:
        # What one target answers must not keep the others from being asked.
        self._steps.run(f"asking target {target.name} for its version", lambda: self._ask(target))

    def _ask(self, target: Target) -> None:
        engines = self._engines(target)
        # A replica that does not answer now still has the version that it had.
        known = {url: version for url, version in self._versions.get(target.name, {}).items() if url in engines}
        for url, kind in engines.items():
            try:
                version = version_at(target, url, kind.engine)
            except (ProbeError, SecretError) as error:
                log.debug("target %s: %s does not tell its version: %s", target.name, url, error)
                continue
            if version is not None:
                known[url] = version
        with self._lock:
            self._versions[target.name] = known
            # Without an engine there was nothing to ask; it may be recognised soon.
            if engines:
                self._again_at[server_of(target)] = self._clock() + RECHECK_SECONDS
        if version := label(", ".join(sorted(set(known.values())))):
            self._saw(target, version)

"""Whether a target with `wake: false` sleeps: asked before each probe at a place that wakes nobody.

An engine tells it itself (Ollama, llama.cpp and llama-swap, vLLM), or an address of the user's own does. Who does not
answer is not taken for asleep: a server that is down must be found out, and so must an address that is wrong.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from exporters.probe.failures import ProbeError
from exporters.probe.key import Server, server_of
from exporters.probe.targets.recognition import LARGEST_METRICS_PAGE, TIMEOUT, ask, origin
from exporters.probe.wire.way import way_to
from inferwatch.config import Target
from inferwatch.secrets import SecretError, auth_headers

log = logging.getLogger(__name__)

VLLM_STATE = "vllm:engine_sleep_state"
# What llama.cpp's router and llama-swap call a model that takes requests, or will in a moment.
_AWAKE_STATES = ("loaded", "loading", "ready", "starting")


class Naps:
    """Remembers of each target that probes must not wake whether it slept when it was asked last.

    Args:
        engine_of: Returns the name of a target's engine, "unknown" while it is not.
    """

    def __init__(self, engine_of: Callable[[Target], str]) -> None:
        self._engine_of = engine_of
        self._lock = threading.Lock()
        self._found: dict[Server, bool | None] = {}

    def may_probe(self, target: Target, model: str, within: float = inf) -> bool:
        """Ask, for no longer than `within` seconds, and say whether a probe would wake nobody.

        A target that cannot be asked is left alone, and not shown as asleep: the alert on stale probes tells of it.
        """
        if target.wake:
            return True
        try:
            found = sleeps(target, model, self._engine_of(target), within)
        except Exception:
            log.exception("target %s: inferwatch failed to find out whether it sleeps", target.name)
            found = None
        with self._lock:
            before = self._found.get(server_of(target), False)
            self._found[server_of(target)] = found
        if found is not before:
            _log(target, found)
        return found is False

    def asleep(self, target: Target) -> bool:
        """Say whether a target that must not be woken slept when it was asked last."""
        return not target.wake and self._found.get(server_of(target)) is True

    def forget_all_but(self, targets: Iterable[Target]) -> None:
        """Drop the targets that are configured no more, are another server, or may be woken now."""
        servers = {server_of(target) for target in targets if not target.wake}
        with self._lock:
            self._found = {server: found for server, found in self._found.items() if server in servers}


def _log(target: Target, found: bool | None) -> None:
    if found is not None:
        log.info("target %s %s", target.name, "sleeps; it is not probed" if found else "no longer sleeps; it is probed")
        return
    advice = (
        "awake_url does not answer" if target.awake_url else "write awake_url:, as its engine is not one that tells"
    )
    log.warning("target %s: nothing tells whether it sleeps, so it is not probed; %s", target.name, advice)


def sleeps(target: Target, model: str, engine: str, within: float = inf) -> bool | None:
    """Say whether a target sleeps; None if nothing tells, or not within so many seconds.

    An answer of another form than its engine's tells nothing.
    A server whose own word was to be heard and that does not answer is awake, in so far as nothing of it can be woken.
    """
    if target.awake_url is not None:
        return _by_address(target, target.awake_url, min(TIMEOUT, within))
    tell = _TELLERS.get("ollama" if target.api == "ollama" else "llamacpp" if target.api == "llamacpp" else engine)
    if tell is None:
        return None
    try:
        return tell(_Server(target, within), model)
    except (ProbeError, SecretError):
        return False


class _Server:
    """GETs of a target's own server, with its key, all of them within so many seconds."""

    def __init__(self, target: Target, within: float) -> None:
        self._give_up_at = time.monotonic() + within
        self._way = way_to(target)
        self._headers = auth_headers(target.auth)
        self._base = target.url.removesuffix("/v1")
        self.metrics = target.metrics

    def document(self, path: str) -> Any:
        """Return the JSON at a path; None for another status or no JSON. Raises ProbeError without an answer."""
        return ask(self._base + path, self._headers, timeout=self._left(), way=self._way).document

    def texts(self) -> Iterator[str]:
        """Yield what the metrics addresses answer; no key is sent there."""
        for url in self.metrics:
            page = ask(url, {"Accept": "text/plain"}, LARGEST_METRICS_PAGE, self._left())
            yield page.body.decode("utf-8", "replace")

    def _left(self) -> float:
        return max(min(TIMEOUT, self._give_up_at - time.monotonic()), 0.001)


def _by_address(target: Target, url: str, timeout: float) -> bool | None:
    try:
        if origin(url) == origin(target.url):
            page = ask(url, auth_headers(target.auth), timeout=timeout, way=way_to(target))
        else:
            # Key, certificates and proxy are for the server that they belong to.
            page = ask(url, {}, timeout=timeout)
    except (ProbeError, SecretError) as error:
        log.debug("target %s: awake_url does not answer: %s", target.name, error)
        return None
    awake = page.status == 200 and (target.awake_text is None or target.awake_text.encode() in page.body)
    return not awake


def _ollama(server: _Server, model: str) -> bool | None:
    """A model that is not loaded sleeps; loading it takes GPU memory that others may need."""
    loaded = _entries(server.document("/api/ps"), "models", "name")
    if loaded is None:
        return None
    return not loaded if not model else not loaded.keys() & {model, f"{model}:latest"}


def _llamacpp(server: _Server, model: str) -> bool | None:
    """`--sleep-idle-seconds` shows in /props, a router's models in /models, llama-swap's in /running."""
    running = _entries(server.document("/running"), "running", "model")
    if running is not None:
        loaded = running.get(model) if model else next(iter(running.values()), None)
        return True if loaded is None else _rests(loaded.get("state"))
    listed = _entries(server.document("/models"), "data", "id") or {}
    for name, entry in listed.items():
        status = entry.get("status")
        if isinstance(status, dict) and name == (model or name):
            return _rests(status.get("value"))
    props = server.document("/props")
    # Servers without the field cannot sleep.
    return props.get("is_sleeping") is True if isinstance(props, dict) else None


def _rests(state: object) -> bool | None:
    return state not in _AWAKE_STATES if isinstance(state, str) else None


def _vllm(server: _Server, _: str) -> bool | None:
    """Tell by /is_sleeping, which only development mode has, or by the metric, which is there since 0.11.1.

    One that has neither cannot be put to sleep.
    """
    document = server.document("/is_sleeping")
    if isinstance(document, dict) and document.get("is_sleeping") is True:
        return True
    try:
        awake = [value for text in server.texts() for value in _states(text)]
    except ValueError:
        return None
    return bool(awake) and not any(awake)


def _states(text: str) -> Iterator[float]:
    """Yield for each engine of vLLM's metrics whether it is awake. Raises ValueError for a line that is no sample."""
    # Only these lines: reading all of a page takes far longer than asking for it.
    lines = [line for line in text.splitlines() if line.startswith(VLLM_STATE)]
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        yield from (sample.value for sample in family.samples if sample.labels.get("sleep_state") == "awake")


def _entries(document: Any, key: str, named_by: str) -> dict[str, Mapping[str, Any]] | None:
    """Return the objects that a document lists under a key by their names; None for a list of anything else."""
    listed = document.get(key) if isinstance(document, dict) else None
    if not isinstance(listed, list):
        return None
    if not all(isinstance(entry, dict) and isinstance(entry.get(named_by), str) for entry in listed):
        return None
    return {entry[named_by]: entry for entry in listed}


_TELLERS: Mapping[str, Callable[[_Server, str], bool | None]] = {
    "ollama": _ollama,
    "llamacpp": _llamacpp,
    "vllm": _vllm,
}
TELLING_ENGINES = tuple(_TELLERS)

"""Which engine is at an address: told by its metrics or, where those do not tell, by the server itself."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal
from urllib.parse import urljoin, urlsplit, urlunsplit

from exporters.probe.asking.reader import ConnectionLostError, TooLargeError, exchange
from exporters.probe.failures import ProbeError, StreamFormatError, failure_of_status
from exporters.probe.wire.connection import Recorder
from exporters.probe.wire.deadline import Deadline
from exporters.probe.wire.way import DIRECT, Way
from inferwatch.engines import Engine, info_paths, recognise, recognise_headers, recognise_info, recognise_models

By = Literal["configuration", "metrics", "models", "info", "headers"]
# How a person reads each.
SAYS: Mapping[By, str] = {
    "configuration": "the configuration says so",
    "metrics": "by the names of its metrics",
    "models": "by owned_by in its list of models",
    "info": "by what its server says about itself",
    "headers": "by the headers of its answers",
}
TIMEOUT = 3.0
_REDIRECTS = (301, 302, 307, 308)
LARGEST_METRICS_PAGE = 16 << 20
LARGEST_DOCUMENT = 4 << 20


@dataclass(frozen=True)
class Recognised:
    """An engine, and what gave it away."""

    engine: Engine
    by: By


@dataclass(frozen=True)
class Page:
    """An answer to a GET, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> object:
        """The body as JSON, or None."""
        try:
            return json.loads(self.body) if self.status == HTTPStatus.OK else None
        except (ValueError, RecursionError):
            return None


def ask(
    url: str,
    headers: Mapping[str, str],
    largest: int = LARGEST_DOCUMENT,
    timeout: float = TIMEOUT,
    way: Way = DIRECT,
) -> Page:
    """GET an address without following redirects.

    Raises:
        ProbeError: If no whole answer came.
    """
    with Deadline(timeout) as deadline, exchange("GET", url, headers, None, Recorder(deadline), way) as answer:
        try:
            body = answer.body(largest)
        except (TooLargeError, StreamFormatError) as error:
            raise ProbeError("not_stream", f"the answer of {urlsplit(url).netloc} cannot be read: {error}") from None
        except ConnectionLostError as error:
            raise ProbeError("connection_lost", f"the connection broke inside the answer: {error}") from None
        return Page(answer.status, dict(answer.response.headers), body)


def by_metrics(url: str) -> Recognised | None:
    """Return the engine whose metrics are at an address. No key is sent there.

    Raises:
        ProbeError: If there are no metrics, or no whole answer came.
    """
    accept = {"Accept": "text/plain"}
    page = ask(url, accept, LARGEST_METRICS_PAGE)
    if page.status in _REDIRECTS and _leads_to(url, page.headers.get("Location", ""), f"{url}/"):
        # LiteLLM moves to the address with a slash, and Prometheus follows.
        page = ask(f"{url}/", accept, LARGEST_METRICS_PAGE)
    if page.status != HTTPStatus.OK:
        raise failure_of_status(page.status, "", page.headers.get("Location"))
    engine = recognise(page.body.decode("utf-8", "replace"))
    return Recognised(engine, "metrics") if engine else None


def by_server(base_url: str, headers: Mapping[str, str], way: Way = DIRECT) -> Recognised | None:
    """Return the engine that a server says it is: in its list of models, in documents about itself, in headers.

    Args:
        base_url: What an OpenAI SDK calls so, mostly ending in /v1.
        headers: What authorises a request to it.
        way: How requests to it travel.

    Raises:
        ProbeError: If one of the requests got no whole answer; the rest is not asked then.
    """
    listed = ask(f"{base_url}/models", headers, way=way)
    engine = recognise_models(_owners(listed.document))
    if engine:
        return Recognised(engine, "models")
    for path in info_paths():
        engine = recognise_info(path, ask(origin(base_url) + path, headers, way=way).document)
        if engine:
            return Recognised(engine, "info")
    engine = recognise_headers(listed.headers)
    return Recognised(engine, "headers") if engine else None


def origin(url: str) -> str:
    """Return scheme, host and port of a URL."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, "", "", ""))


def _leads_to(url: str, location: str, expected: str) -> bool:
    """Say whether a redirect's Location leads from one URL to another; one that cannot be read leads nowhere."""
    try:
        return urljoin(url, location) == expected
    except ValueError:
        return False


def _owners(document: object) -> set[str]:
    listed = document.get("data") if isinstance(document, dict) else None
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return {entry["owned_by"] for entry in entries if isinstance(entry.get("owned_by"), str)}

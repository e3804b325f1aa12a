"""The HTTP face of a service: `/metrics`, `/healthz`, a landing page and routes of its own.

`/metrics` is prometheus_client's own application: content negotiation, gzip and `name[]` are its.
"""

import html
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from prometheus_client import CollectorRegistry, disable_created_metrics
from prometheus_client.exposition import make_wsgi_app

from inferwatch import cross_site
from inferwatch.http_server import WsgiApp
from inferwatch.http_server import listen as listen_on
from inferwatch.web_config.access import Access

if TYPE_CHECKING:
    from inferwatch.web_config.keeper import WebConfigKeeper

log = logging.getLogger(__name__)

# A `_created` series beside every counter and histogram would double the series for nothing that we query.
disable_created_metrics()  # type: ignore[no-untyped-call]

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
LARGEST_BODY = 1 << 20
# `stop` wakes the server; this is for systems where it does not.
LOOK_EVERY_SECONDS = 1.0

Environ = dict[str, Any]
Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class Request:
    """What a route is given: the query's values by name, the body of a POST (at most 1 MiB) with its type, and headers.

    The names of headers are in lower case.
    """

    query: dict[str, list[str]] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Response:
    """What a route answers."""

    body: str
    content_type: str = TEXT
    status: HTTPStatus = HTTPStatus.OK
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Route:
    """One address of the server. HEAD is answered where GET is.

    Attributes:
        path: Where it is.
        answer: What answers.
        method: How it is asked.
        title: How the landing page calls the link to it; "" sets none.
        costs: Whether an answer costs something: pages of other sites may not ask, and HEAD gets none.
    """

    path: str
    answer: Callable[[Request], Response]
    method: str = "GET"
    title: str = ""
    costs: bool = False


_OPEN = Access()
_PASSWORD_NEEDED = Response(
    "this server asks for a user and a password\n",
    status=HTTPStatus.UNAUTHORIZED,
    headers=(("WWW-Authenticate", 'Basic realm="inferwatch", charset="UTF-8"'),),
)


class _BadRequest(Exception):  # noqa: N818 - the name of the status
    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.response = Response(sentence + "\n", status=status)


class ExpositionServer:
    """Serves metrics and routes from `start` until `stop`.

    Args:
        name: What the landing page calls this process.
        listen: ``host:port``; port 0 takes a free one, which `address` then holds.
        metrics: What `/metrics` renders, or the application that answers it; None leaves `/metrics` to the routes.
        routes: Further addresses.
        health: Returns None while the process does its work, else a sentence that says what is wrong.
        web: Who may ask, and how; None serves everyone over plain HTTP.

    Raises:
        InferwatchError: If the address cannot be listened on.
    """

    def __init__(
        self,
        name: str,
        listen: str,
        metrics: CollectorRegistry | WsgiApp | None,
        routes: Iterable[Route] = (),
        health: Callable[[], str | None] = lambda: None,
        web: "WebConfigKeeper | None" = None,
    ) -> None:
        self._name = name
        self._web = web
        self._metrics = make_wsgi_app(metrics) if isinstance(metrics, CollectorRegistry) else metrics
        self._health = health
        self._listed = [*routes, Route("/healthz", self._healthz, title="Is this process at work?")]
        if not any(route.path == "/" for route in self._listed):
            self._listed.append(Route("/", self._landing))
        self._routes = {(route.method, route.path): route for route in self._listed}
        self._server = listen_on(listen, self._app, self._access)
        self.address = self._server.address
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": LOOK_EVERY_SECONDS},
            name="exposition",
            daemon=True,
        )

    def start(self) -> None:
        """Begin to answer."""
        if self._web is not None:
            self._web.start()
        self._thread.start()
        log.info("listening on http%s://%s", "s" if self._access().tls else "", self.address)

    def stop(self) -> None:
        """Answer no more, free the port, and let the requests in flight finish."""
        if self._web is not None:
            self._web.stop()
        if self._thread.is_alive():
            self._server.wake()
            self._server.shutdown()
            self._thread.join()
        self._server.finish()

    def _access(self) -> Access:
        return self._web.access if self._web is not None else _OPEN

    def _app(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        access = self._access()
        head = environ["REQUEST_METHOD"] == "HEAD"
        if head:
            environ = environ | {"REQUEST_METHOD": "GET"}
        path = environ["PATH_INFO"]
        try:
            if access.passwords is not None and not access.passwords.accept(environ.get("HTTP_AUTHORIZATION")):
                status, headers, body = _encoded(_PASSWORD_NEEDED)
            elif path == "/metrics" and self._metrics is not None and environ["REQUEST_METHOD"] == "GET":
                status, headers, body = _scraped(self._metrics, environ)
            else:
                status, headers, body = _encoded(self._respond(environ["REQUEST_METHOD"], path, environ, head=head))
        except Exception:
            log.exception("%s %s failed", environ["REQUEST_METHOD"], path)
            failed = Response("this page failed; the log says why\n", status=HTTPStatus.INTERNAL_SERVER_ERROR)
            status, headers, body = _encoded(failed)
        headers = list((dict(headers) | dict(access.headers)).items())
        start_response(status, [*headers, ("Content-Length", str(len(body)))])
        return [b"" if head else body]

    def _respond(self, method: str, path: str, environ: Environ, *, head: bool) -> Response:
        route = self._routes.get((method, path))
        if route is None:
            return self._no_route(method, path)
        headers = _headers(environ)
        if route.costs and (sentence := cross_site.refusal(headers, on_loopback=self._server.on_loopback)):
            return Response(sentence + "\n", status=HTTPStatus.FORBIDDEN)
        if route.costs and head:
            return Response("")
        try:
            body = _body(environ)
        except _BadRequest as bad:
            return bad.response
        query = parse_qs(environ.get("QUERY_STRING", ""))
        return route.answer(Request(query, body, environ.get("CONTENT_TYPE") or "", headers))

    def _no_route(self, method: str, path: str) -> Response:
        methods = {known for known, at in self._routes if at == path}
        if path == "/metrics" and self._metrics is not None:
            methods.add("GET")
        if not methods:
            return Response(f"nothing is at {path}; see /\n", status=HTTPStatus.NOT_FOUND)
        if "GET" in methods:
            methods.add("HEAD")
        allowed = ", ".join(sorted(methods))
        sentence = f"{method} is not answered at {path}; use {allowed}\n"
        return Response(sentence, status=HTTPStatus.METHOD_NOT_ALLOWED, headers=(("Allow", allowed),))

    def _healthz(self, _: Request) -> Response:
        trouble = self._health()
        if trouble is None:
            return Response("ok\n")
        return Response(trouble + "\n", status=HTTPStatus.SERVICE_UNAVAILABLE)

    def _landing(self, _: Request) -> Response:
        listed = [(route.path, route.title) for route in self._listed if route.title and route.method == "GET"]
        if self._metrics is not None:
            listed.insert(0, ("/metrics", "What Prometheus scrapes"))
        rows = "".join(
            f'<li><a href="{html.escape(path)}">{html.escape(path)}</a>: {html.escape(title)}</li>'
            for path, title in listed
        )
        name = html.escape(self._name)
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title>'
        return Response(f"{head}<h1>{name}</h1><ul>{rows}</ul></html>\n", HTML)


def _scraped(metrics: WsgiApp, environ: Environ) -> tuple[str, Headers, bytes]:
    begun: list[tuple[str, Headers]] = []
    body = b"".join(metrics(environ, lambda status, headers: begun.append((status, headers))))
    return *begun[0], body


def _encoded(response: Response) -> tuple[str, Headers, bytes]:
    status = f"{response.status.value} {response.status.phrase}"
    headers = {"Content-Type": response.content_type, "X-Content-Type-Options": "nosniff"} | dict(response.headers)
    return status, list(headers.items()), response.body.encode()


def _headers(environ: Environ) -> dict[str, str]:
    return {
        name.removeprefix("HTTP_").replace("_", "-").lower(): str(value)
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }


def _body(environ: Environ) -> bytes:
    if environ.get("HTTP_TRANSFER_ENCODING"):
        raise _BadRequest(HTTPStatus.LENGTH_REQUIRED, "send the body with its Content-Length")
    given = environ.get("CONTENT_LENGTH") or "0"
    if not (given.isascii() and given.isdigit()):
        raise _BadRequest(HTTPStatus.BAD_REQUEST, "Content-Length is not a number")
    length = int(given[:20])
    if length > LARGEST_BODY:
        raise _BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than {LARGEST_BODY} bytes")
    try:
        body: bytes = environ["wsgi.input"].read(length)
    except TimeoutError:
        raise _BadRequest(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time") from None
    if len(body) < length:
        raise _BadRequest(HTTPStatus.BAD_REQUEST, "the body is shorter than its Content-Length")
    return body

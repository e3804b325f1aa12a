"""The HTTP server of both exporters: `/metrics`, `/healthz`, a landing page and routes of their own.

`/metrics` is prometheus_client's own application: content negotiation, gzip and `name[]` are its.
"""

import html
import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from socketserver import ThreadingMixIn
from typing import Any
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, disable_created_metrics
from prometheus_client.exposition import make_wsgi_app

from inferwatch.errors import InferwatchError

log = logging.getLogger(__name__)

# A `_created` series beside every counter and histogram would double the series for nothing that we query.
disable_created_metrics()  # type: ignore[no-untyped-call]

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
LARGEST_BODY = 1 << 20


@dataclass(frozen=True)
class Request:
    """What a route is given: the query's values by name, and the body of a POST (at most 1 MiB) with its type."""

    query: dict[str, list[str]] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = ""


@dataclass(frozen=True)
class Response:
    """What a route answers."""

    body: str
    content_type: str = TEXT
    status: HTTPStatus = HTTPStatus.OK
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Route:
    """One address of the server; with a title it is linked from the landing page."""

    path: str
    answer: Callable[[Request], Response]
    method: str = "GET"
    title: str = ""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    # A burst of scrapes and health checks must not be refused while one is answered.
    request_queue_size = 64


class _Handler(WSGIRequestHandler):
    # A client that sends nothing must not hold a thread for ever.
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:
        log.debug("%s %s", self.address_string(), format % args)


class ExpositionServer:
    """Serves a registry and routes until `stop`.

    Args:
        name: What the landing page calls this process.
        listen: ``host:port``; port 0 takes a free one, which `address` then holds.
        registry: What `/metrics` renders; None leaves `/metrics` to the routes.
        routes: Further addresses.
        health: Returns None while the process does its work, else a sentence that says what is wrong.

    Raises:
        InferwatchError: If the address cannot be listened on.
    """

    def __init__(
        self,
        name: str,
        listen: str,
        registry: CollectorRegistry | None,
        routes: Iterable[Route] = (),
        health: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._name = name
        self._metrics = make_wsgi_app(registry) if registry is not None else None
        self._health = health
        own = [Route("/healthz", self._healthz, title="Is this process at work?")]
        if not any(route.path == "/" for route in routes):
            own.append(Route("/", self._landing))
        self._listed = [*routes, *own]
        self._routes = {(route.method, route.path): route for route in self._listed}
        host, port = split_address(listen)
        try:
            self._server = make_server(host, port, self._app, _Server, _Handler)
        except (OSError, OverflowError) as error:
            raise InferwatchError(
                f"cannot listen on {listen}: {error}; end what holds it or choose another with --web.listen-address"
            ) from None
        self.address = f"{host}:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="exposition", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()
        log.info("listening on http://%s", self.address)

    def stop(self) -> None:
        """Answer no more, and free the port."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def _app(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if path == "/metrics" and method == "GET" and self._metrics is not None:
            rendered: Iterable[bytes] = self._metrics(environ, start_response)
            return rendered
        response = self._respond(method, path, environ)
        body = response.body.encode()
        status = f"{response.status.value} {response.status.phrase}"
        own = [("Content-Type", response.content_type), ("Content-Length", str(len(body)))]
        start_response(status, own + list(response.headers))
        return [body]

    def _respond(self, method: str, path: str, environ: dict[str, Any]) -> Response:
        route = self._routes.get((method, path))
        if route is None:
            if any(known == path for _, known in self._routes):
                return Response(f"{method} is not answered at {path}\n", status=HTTPStatus.METHOD_NOT_ALLOWED)
            return Response(f"nothing is at {path}; see /\n", status=HTTPStatus.NOT_FOUND)
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > LARGEST_BODY:
            return Response("the body is too large\n", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        body = environ["wsgi.input"].read(length) if length else b""
        try:
            query = parse_qs(environ.get("QUERY_STRING", ""))
            return route.answer(Request(query, body, environ.get("CONTENT_TYPE") or ""))
        except Exception:
            log.exception("%s %s failed", method, path)
            return Response("this page failed; the log says why\n", status=HTTPStatus.INTERNAL_SERVER_ERROR)

    def _healthz(self, _: Request) -> Response:
        trouble = self._health()
        if trouble is None:
            return Response("ok\n")
        return Response(trouble + "\n", status=HTTPStatus.SERVICE_UNAVAILABLE)

    def _landing(self, _: Request) -> Response:
        listed = [route for route in self._listed if route.title and route.method == "GET"]
        if self._metrics is not None:
            listed.insert(0, Route("/metrics", self._healthz, title="What Prometheus scrapes"))
        rows = "".join(
            f'<li><a href="{html.escape(route.path)}">{html.escape(route.path)}</a>: {html.escape(route.title)}</li>'
            for route in listed
        )
        name = html.escape(self._name)
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title>'
        return Response(f"{head}<h1>{name}</h1><ul>{rows}</ul></html>\n", HTML)


def split_address(listen: str) -> tuple[str, int]:
    """Split ``host:port``; an empty host means every interface.

    Raises:
        InferwatchError: If it is none.
    """
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise InferwatchError(f"{listen!r} is not an address; write host:port, such as 127.0.0.1:9811")
    return host.strip("[]"), int(port)

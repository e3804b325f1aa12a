"""A small threaded HTTP server over the standard library's WSGI server, made fit for a service.

Against the standard library: no name look-up at start, IPv6, errors in the log instead of tracebacks on standard
error, silent clients dropped, requests in flight finished before the end.
"""

import errno
import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from socketserver import TCPServer, ThreadingMixIn
from typing import Any
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, WSGIServer

from inferwatch.errors import InferwatchError
from inferwatch.web_config.access import Access
from inferwatch.web_config.handshake import secured

log = logging.getLogger(__name__)

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
CLIENT_TIMEOUT_SECONDS = 30.0
GRACE_SECONDS = 3.0


def listen(address: str, app: WsgiApp, access: Callable[[], Access] = Access) -> "Server":
    """Return a server that listens on ``host:port`` and answers once `serve_forever` is called.

    Args:
        address: Where to listen.
        app: What answers.
        access: Returns what holds for the next connection.

    Raises:
        InferwatchError: If the address is none, or cannot be listened on.
    """
    host, port = split_address(address)
    try:
        server = Server(host, port, access)
    except OSError as error:
        held = error.errno == errno.EADDRINUSE
        advice = "end what holds it or choose another" if held else "choose another address"
        raise InferwatchError(
            f"cannot listen on {address}: {error.strerror}; {advice} with --web.listen-address"
        ) from None
    server.set_app(app)
    return server


def split_address(address: str) -> tuple[str, int]:
    """Split ``host:port`` or ``[IPv6]:port``; an empty host means every interface.

    Raises:
        InferwatchError: If it is none.
    """
    host, colon, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not (port.isascii() and port.isdigit()) or int(port[:6]) > 65535:
        raise InferwatchError(f"{address!r} is not an address; write host:port, such as 127.0.0.1:9811")
    if ":" in host and not bracketed:
        raise InferwatchError(f"{address!r} is not an address; write an IPv6 address in brackets, such as [::1]:9811")
    return host[1:-1] if bracketed else host, int(port)


def _bind_to(host: str, port: int) -> tuple[socket.AddressFamily, str]:
    """Return the family and address to bind: for an empty host IPv6 and IPv4 together where the system can."""
    if not host:
        return (socket.AF_INET6, "::") if socket.has_dualstack_ipv6() else (socket.AF_INET, "0.0.0.0")  # noqa: S104
    family, _, _, _, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return family, str(found[0])


class Server(ThreadingMixIn, WSGIServer):
    """Listens from its construction on; see `listen`."""

    daemon_threads = True
    # A burst of scrapes and health checks must not be refused while one is answered.
    request_queue_size = 64

    def __init__(self, host: str, port: int, access: Callable[[], Access]) -> None:
        self._access = access
        self.address_family, bound = _bind_to(host, port)
        self._every_interface = not host
        self._in_flight = 0
        self._changed = threading.Condition()
        super().__init__((bound, port), _Handler)
        shown = f"[{host}]" if ":" in host else host
        self.address = f"{shown}:{self.server_port}"

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return ip_address(self.server_name).is_loopback

    def server_bind(self) -> None:
        """Bind without HTTPServer's look-up of the host's full name, which can take seconds without DNS."""
        if self._every_interface and self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answer one connection, encrypted where that is in force; this runs on the connection's own thread."""
        access = self._access()
        if access.tls is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(_Handler.timeout)
        with secured(request, access.tls, access) as encrypted:
            if encrypted is not None:
                super().finish_request(encrypted, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class's signature
        """Log what a connection died of; a client that went away or sent nothing is no fault of ours."""
        if isinstance(sys.exception(), OSError):
            log.debug("%s: %s", client_address[0], sys.exception())
        else:
            log.error("the connection of %s failed", client_address[0], exc_info=True)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a request in flight."""
        with self._changed:
            self._in_flight += 1
        try:
            yield
        finally:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify_all()

    def wake(self) -> None:
        """Accept no more, which ends the wait of `serve_forever` for a connection, so that it sees `shutdown`."""
        with suppress(OSError):  # not every system lets a socket that listens be shut down
            self.socket.shutdown(socket.SHUT_RDWR)

    def finish(self) -> None:
        """Free the port and wait a moment for the requests in flight."""
        self.server_close()
        with self._changed:
            self._changed.wait_for(lambda: self._in_flight == 0, GRACE_SECONDS)


class _Responder(ServerHandler):
    server_software = "inferwatch"

    def log_exception(self, exc_info: Any) -> None:
        if isinstance(exc_info[1], OSError):
            log.debug("the client went away: %s", exc_info[1])
        else:
            log.error("a response failed", exc_info=exc_info)


class _Handler(WSGIRequestHandler):
    server: Server
    server_version = "inferwatch"
    # A client that sends nothing must not hold a thread for ever.
    timeout = CLIENT_TIMEOUT_SECONDS

    def handle(self) -> None:
        """Answer one request, as WSGIRequestHandler does, with our responder."""
        self.raw_requestline = self.rfile.readline(65537)
        if len(self.raw_requestline) > 65536:
            self.requestline, self.request_version, self.command = "", "", ""
            self.send_error(414)
            return
        if not self.parse_request():
            return
        with self.server.answering():
            responder: Any = _Responder(self.rfile, self.wfile, self.get_stderr(), self.get_environ())  # type: ignore[arg-type]
            responder.request_handler = self
            responder.run(self.server.get_app())

    def version_string(self) -> str:
        return self.server_version

    def log_message(self, format: str, *args: Any) -> None:
        log.debug("%s %s", self.client_address[0], format % args)

"""Requests and urllib3 made to tell when they connect, send and hear the headers; sessions for one request, or more."""

import contextlib
import http.client
import logging
import re
import socket
import ssl
from collections.abc import Iterator
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from typing import Any, cast

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool

from exporters.probe.wire.connection import Recorder
from exporters.probe.wire.stamped import StampedResponse
from exporters.probe.wire.trust import trusted_context
from exporters.probe.wire.way import DIRECT, Way
from inferwatch import __version__

_TUNNEL_STATUS = re.compile(r"Tunnel connection failed: (\d{3})\b")
USER_AGENT = f"inferwatch-probe/{__version__}"
# It warns of headers that it cannot read, and quotes them with a traceback: what a server sends is in no log.
logging.getLogger("urllib3.connection").setLevel(logging.ERROR)


class TunnelError(OSError):
    """The proxy did not connect to the server; `status` is its answer, None if that was no HTTP."""

    def __init__(self, status: int | None) -> None:
        super().__init__("no tunnel")
        self.status = status


class _TimedConnection(HTTPConnection):
    def __init__(self, *args: Any, adapter: "_TimedAdapter", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._adapter = adapter

    @property
    def recorder(self) -> Recorder:
        """What the request of this moment is noted in."""
        return self._adapter.recorder

    def _new_conn(self) -> socket.socket:
        return self.recorder.dial(self._dns_host.strip("[]"), self.port or self.default_port, self.socket_options or ())

    def request(self, *args: Any, **kwargs: Any) -> None:
        # urllib3 would connect inside request(), and the connection would count as part of sending.
        if self.sock is None:
            self.connect()
        elif "tcp" not in self.recorder.phases:
            # For TLS urllib3 has connected by now, if it had to.
            self.recorder.reuse(self.sock)
        self.recorder.begin_sending()
        super().request(*args, **kwargs)
        self.recorder.end()
        self.recorder.begin("headers")

    def response_class(self, sock: socket.socket, *args: Any, **kwargs: Any) -> StampedResponse:  # type: ignore[override]
        # A proxy is asked for a tunnel before anything is sent.
        earliest = self.recorder.sending_at or self.recorder.began_at
        self.recorder.source = response = StampedResponse(sock, *args, earliest=earliest, **kwargs)
        return response

    def getresponse(self) -> Any:
        response = super().getresponse()
        self.recorder.hear_headers()
        return response


class _TimedTlsConnection(_TimedConnection, HTTPSConnection):
    def request(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().request(*args, **kwargs)
        except (ssl.SSLEOFError, ConnectionError):
            # With TLS 1.3 a server says only now that it wants another certificate, and why waits to be read.
            if isinstance(self.sock, ssl.SSLSocket):
                with contextlib.suppress(ssl.SSLEOFError, ConnectionError, TimeoutError):
                    self.sock.recv(1)
            raise

    def connect(self) -> None:
        super().connect()
        self.recorder.end()

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        self.recorder.begin("tls")
        return sock

    def _tunnel(self) -> None:
        # What a proxy needs to connect to the server is a part of connecting.
        self.recorder.resume("tcp")
        try:
            super()._tunnel()
            if self.recorder.deadline.passed:
                # Half an answer was taken for a whole one: the interruption looks like its end.
                raise TunnelError(None)
        except (OSError, http.client.HTTPException) as error:
            status = _TUNNEL_STATUS.match(str(error))
            self.recorder.error = TunnelError(int(status[1]) if status else None)
            raise self.recorder.error from None
        self.recorder.end()
        self.recorder.begin("tls")


class _TimedAdapter(HTTPAdapter):
    def __init__(self, recorder: Recorder, context: ssl.SSLContext | None, proxy_headers: dict[str, str]) -> None:
        self.recorder = recorder
        self._context = context
        self._proxy_headers = proxy_headers
        self._pool: HTTPConnectionPool | None = None
        super().__init__(pool_connections=1, pool_maxsize=1, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._context, **kwargs)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        """Return the manager of connections through a proxy, which requests would give no context."""
        return super().proxy_manager_for(proxy, ssl_context=self._context, **kwargs)

    def proxy_headers(self, proxy: str) -> dict[str, str]:  # noqa: ARG002 - it belongs to the target
        """Return what authorises a request at the proxy."""
        return self._proxy_headers

    def cert_verify(self, *args: Any) -> None:
        """Leave the authorities to the context: requests would have them read again inside the TLS phase."""

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> HTTPConnectionPool:
        pool = cast(HTTPConnectionPool, super().get_connection_with_tls_context(*args, **kwargs))
        timed = _TimedTlsConnection if pool.scheme == "https" else _TimedConnection
        pool.ConnectionCls = partial(timed, adapter=self)  # type: ignore[assignment]
        self._pool = pool
        return pool

    def close(self) -> None:
        """Close the connection now: urllib3 leaves that to the collector of garbage, which a failure's frames delay."""
        if self._pool is not None:
            self._pool.close()
        super().close()


class _Session(requests.Session):
    def get_redirect_target(self, resp: requests.Response) -> None:
        """Look at no redirect: requests would read its whole body first, even of one that it is not to follow."""


@contextlib.contextmanager
def session_of(recorder: Recorder, *, tls: bool, way: Way = DIRECT) -> Iterator[requests.Session]:
    """Yield a session for one request: the one that the recorder's probe keeps, or a new one, which is closed then.

    Raises:
        ProbeError: If TLS is wanted and a certificate cannot be read, or the login of the proxy cannot.
    """
    context, proxy_headers = trusted_context(way.tls) if tls else None, way.proxy_headers()
    if recorder.kept is not None:
        yield recorder.kept.session(recorder, context, way, proxy_headers)
        return
    with _session(_TimedAdapter(recorder, context, proxy_headers), way) as session:
        yield session


class KeptConnection:
    """A connection that stays open from one request to the next, as long as the server lets it; not for two at a time.

    Renewed certificates, or another login at the proxy, make a new one.
    """

    def __init__(self) -> None:
        self._adapter: _TimedAdapter | None = None
        self._session: requests.Session | None = None
        self._made_of: object = None

    def session(
        self, recorder: Recorder, context: ssl.SSLContext | None, way: Way, proxy_headers: dict[str, str]
    ) -> requests.Session:
        """Return the session for the next request."""
        wanted = context, way, proxy_headers
        if self._session is None or self._adapter is None or wanted != self._made_of:
            self.close()
            self._made_of = wanted
            self._adapter = _TimedAdapter(recorder, context, proxy_headers)
            self._session = _session(self._adapter, way)
        self._adapter.recorder = recorder
        return self._session

    def close(self) -> None:
        """Close it, if it is open and not in use."""
        if self._session is not None:
            self._session.close()
            self._session = None


def _session(adapter: _TimedAdapter, way: Way) -> requests.Session:
    """Return a session: no proxy and no .netrc of the environment, no cookies, no retries."""
    session = _Session()
    session.trust_env = False
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    if way.proxy is not None:
        session.proxies = {"http": way.proxy, "https": way.proxy}
    session.headers.clear()
    session.headers["User-Agent"] = USER_AGENT
    # A compressing proxy holds a stream back until its window is full.
    session.headers["Accept-Encoding"] = "identity"
    return session

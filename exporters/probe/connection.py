"""A new connection per request, its phases timed, through requests and urllib3.

The clock of TTFT starts in `Recorder.sending`, when the connection is made: DNS, TCP and TLS are phases of their own.
"""

import contextlib
import ipaddress
import os
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any, cast

import requests
from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.util.ssl_ import create_urllib3_context

from exporters.probe.deadline import Deadline
from exporters.probe.failures import ProbeError
from inferwatch import __version__

NET_SECONDS = 5.0
USER_AGENT = f"inferwatch-probe/{__version__}"
Address = tuple[Any, ...]


class Recorder:
    """What one connection did and when, in seconds of `time.perf_counter`.

    Attributes:
        stage: What it is doing now: dns, tcp, tls, send or headers.
        phases: How long each finished phase took, by metrics.PHASES; an address that needs no resolving has no dns.
        sending_at: When sending the request began.
        headers_at: When the status and headers had come.
        error: What broke the connection before it was made.
    """

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.stage = "dns"
        self.phases: dict[str, float] = {}
        self.sending_at: float | None = None
        self.headers_at: float | None = None
        self.error: OSError | None = None
        self._since = time.perf_counter()

    def begin(self, stage: str) -> float:
        """Note that a stage begins, and return when."""
        self.stage = stage
        self._since = time.perf_counter()
        return self._since

    def end(self) -> float:
        """Note that the stage is over, and return when."""
        now = time.perf_counter()
        self.phases[self.stage] = now - self._since
        return now

    def dial(self, host: str, port: int, options: Iterable[tuple[int, int, int | bytes]]) -> socket.socket:
        """Resolve and connect; raises OSError."""
        try:
            addresses = self._resolve(host, port)
            self.begin("tcp")
            sock = self._connect(addresses, options)
            self.end()
        except OSError as error:
            self.error = error
            raise
        return sock

    def _resolve(self, host: str, port: int) -> list[Address]:
        with contextlib.suppress(ValueError):
            # An address is not resolved, so that phase is absent rather than a few microseconds.
            ipaddress.ip_address(host)
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        self.begin("dns")
        addresses = _resolve_within(host, port, self.deadline)
        self.end()
        return addresses

    def _connect(self, addresses: list[Address], options: Iterable[tuple[int, int, int | bytes]]) -> socket.socket:
        failed: OSError = OSError("the name has no address")
        for position, (family, kind, protocol, _, address) in enumerate(addresses):
            sock = socket.socket(family, kind, protocol)
            try:
                for option in options:
                    sock.setsockopt(*option)
                # An address that swallows packets must leave time for the others.
                sock.settimeout(self.deadline.remaining() / (len(addresses) - position))
                self.deadline.guard_socket(sock)
                sock.connect(address)
            except OSError as error:
                sock.close()
                failed = error
            else:
                # From here on the deadline interrupts; the timeout of a single read is the net below it.
                sock.settimeout(self.deadline.remaining() + NET_SECONDS)
                return sock
        raise failed


def _resolve_within(host: str, port: int, deadline: Deadline) -> list[Address]:
    """Resolve in a thread, since getaddrinfo can neither be given a time nor be interrupted."""
    answer: queue.SimpleQueue[list[Address] | OSError] = queue.SimpleQueue()

    def resolve() -> None:
        try:
            answer.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            answer.put(error)
        except UnicodeError:
            answer.put(socket.gaierror(socket.EAI_NONAME, "the name is not a host name"))

    threading.Thread(target=resolve, name="probe-resolve", daemon=True).start()
    deadline.guard(lambda: answer.put(TimeoutError("resolving took too long")))
    found = answer.get()
    if isinstance(found, OSError):
        raise found
    return found


class _TimedConnection(HTTPConnection):
    def __init__(self, *args: Any, recorder: Recorder, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.recorder = recorder

    def _new_conn(self) -> socket.socket:
        return self.recorder.dial(self._dns_host.strip("[]"), self.port or self.default_port, self.socket_options or ())

    def request(self, *args: Any, **kwargs: Any) -> None:
        # urllib3 would connect inside request(), and the connection would count as part of sending.
        if self.sock is None:
            self.connect()
        self.recorder.sending_at = self.recorder.begin("send")
        super().request(*args, **kwargs)
        self.recorder.end()
        self.recorder.begin("headers")

    def getresponse(self) -> Any:
        response = super().getresponse()
        self.recorder.headers_at = self.recorder.end()
        return response


class _TimedTlsConnection(_TimedConnection, HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        self.recorder.end()

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        self.recorder.begin("tls")
        return sock


class _TimedAdapter(HTTPAdapter):
    def __init__(self, recorder: Recorder, context: ssl.SSLContext | None) -> None:
        self._recorder = recorder
        self._context = context
        super().__init__(pool_connections=1, pool_maxsize=1, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._context, **kwargs)

    def cert_verify(self, *args: Any) -> None:
        """Leave the authorities to the context: requests would have them read again inside the TLS phase."""

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> HTTPConnectionPool:
        pool = cast(HTTPConnectionPool, super().get_connection_with_tls_context(*args, **kwargs))
        timed = _TimedTlsConnection if pool.scheme == "https" else _TimedConnection
        pool.ConnectionCls = partial(timed, recorder=self._recorder)  # type: ignore[assignment]
        return pool


def authorities() -> str:
    """Return the file of the certificate authorities that probes trust."""
    named = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE")
    return named or str(DEFAULT_CA_BUNDLE_PATH)


@lru_cache(maxsize=4)
def tls_context(authorities_file: str) -> ssl.SSLContext:
    """Return a context that trusts the authorities in a file; it is kept, for reading them outlasts a handshake.

    Raises:
        OSError: If the file holds no certificates that can be read.
    """
    context = create_urllib3_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.check_hostname = True
    context.load_verify_locations(cafile=authorities_file)
    return context


def _trust() -> ssl.SSLContext:
    file = authorities()
    try:
        return tls_context(file)
    except OSError:
        advice = "correct REQUESTS_CA_BUNDLE (or SSL_CERT_FILE) or unset it"
        raise ProbeError("tls", f"{file} holds no certificates of authorities that can be read; {advice}") from None


def new_session(recorder: Recorder, *, tls: bool) -> requests.Session:
    """Return a session for one request: no proxy and no .netrc of the environment, no cookies, no retries.

    Raises:
        ProbeError: If TLS is wanted and the certificates of the authorities cannot be read.
    """
    session = requests.Session()
    session.trust_env = False
    adapter = _TimedAdapter(recorder, _trust() if tls else None)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    session.headers.clear()
    session.headers["User-Agent"] = USER_AGENT
    # A compressing proxy holds a stream back until its window is full.
    session.headers["Accept-Encoding"] = "identity"
    return session

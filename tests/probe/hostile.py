"""An inference server that misbehaves on request: `server.url("truncated")` is the base URL of that behaviour.

Real sockets and threads on 127.0.0.1. Each behaviour writes the bytes itself, so a test knows what was sent and when.
"""

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import hostile_apis  # noqa: F401 - registers its behaviours
import hostile_failures  # noqa: F401 - registers its behaviours
import hostile_refusals  # noqa: F401 - registers its behaviours
import hostile_streams  # noqa: F401 - registers its behaviours
from hostile_peer import BEHAVIOURS, MODEL, Peer, read_request

# What a test sets while it runs.
SCRIPTED = "scripted"
# A server that fails before it looks at the path fails its list of models too.
_LIKE_THE_REST = [
    BEHAVIOURS[name] for name in ("silent", "unauthorized", "html", "broken", "reset_before_answer", "limited")
]


class HostileServer:
    """Serves every behaviour on 127.0.0.1; with a TLS context, over TLS. A context manager.

    Attributes:
        requests: The requests that came, in the order in which they were read.
        open_now: How many probe requests are being answered now, by behaviour.
        most_open: The most that were at the same time, by behaviour.
        metrics: What `/NAME/metrics` answers, by NAME.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Peer] = []
        self.open_now: dict[str, int] = {}
        self.most_open: dict[str, int] = {}
        self.metrics: dict[str, str] = {}
        self.models: dict[str, list[str]] = {}
        self._tls = tls
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "HostileServer":
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._listener.settimeout(0.1)
        self.port: int = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, name="hostile")
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._acceptor.join()
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def url(self, name: str, host: str = "127.0.0.1") -> str:
        """Return the base URL of a behaviour."""
        assert name in BEHAVIOURS or name == SCRIPTED, name
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}/{name}/v1"

    def base(self, name: str) -> str:
        """Return the base URL of a behaviour for an API whose paths hold their version."""
        return self.url(name).removesuffix("/v1")

    def metrics_url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}/metrics"

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                sock, _ = self._listener.accept()
            except TimeoutError:
                continue
            thread = threading.Thread(target=self._serve, args=(sock,), name="hostile-peer")
            self._threads = [*(other for other in self._threads if other.is_alive()), thread]
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        with sock:
            try:
                sock.settimeout(30)
                # Each piece is a segment of its own, and a reset takes none with it that was not sent yet.
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._tls is not None:
                    sock = self._tls.wrap_socket(sock, server_side=True)
                peer = Peer(sock, self._stopping)
                if read_request(peer):
                    self._answer(peer)
            except OSError:
                # The client went, or the server ends; both are part of the tests.
                pass
            finally:
                with contextlib.suppress(OSError):
                    sock.close()

    def _answer(self, peer: Peer) -> None:
        with self._lock:
            self.requests.append(peer)
        name, _, rest = peer.path.lstrip("/").partition("/")
        if rest == "metrics":
            peer.plain("200 OK", "text/plain", self.metrics.get(name, "")) if name in self.metrics else peer.plain(
                "404 Not Found", "text/plain", ""
            )
        elif rest == "api/tags":
            listed = [{"name": model} for model in self.models.get(name, [MODEL])]
            peer.plain("200 OK", "application/json", json.dumps({"models": listed}))
        elif rest == "v1/models" and BEHAVIOURS[name] not in _LIKE_THE_REST:
            listed = [{"id": model} for model in self.models.get(name, [MODEL])]
            peer.plain("200 OK", "application/json", json.dumps({"object": "list", "data": listed}))
        elif name not in BEHAVIOURS:
            # What discovery asks a server about itself.
            peer.plain("404 Not Found", "text/plain", "")
        else:
            with self._counted(name):
                BEHAVIOURS[name](peer)

    @contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        with self._lock:
            self.open_now[name] = self.open_now.get(name, 0) + 1
            self.most_open[name] = max(self.most_open.get(name, 0), self.open_now[name])
        try:
            yield
        finally:
            with self._lock:
                self.open_now[name] -= 1

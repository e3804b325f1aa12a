"""A forward proxy for the tests: it passes requests on, opens tunnels, and may ask for a login or fail."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Proxy:
    """What the proxy does, and what it saw.

    Attributes:
        login: The value of Proxy-Authorization that it wants; None wants none.
        answer: A status line with which it answers everything instead of passing it on.
        seen: The head of each request.
    """

    login: str | None = None
    answer: str | None = None
    seen: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def proxying(proxy: Proxy) -> Iterator[Proxy]:
    """Serve on a free port of 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        proxy.port = listener.getsockname()[1]
        stopping = threading.Event()

        def accept() -> None:
            while not stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    sock, _ = listener.accept()
                    threading.Thread(target=_serve, args=(proxy, sock), daemon=True).start()

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        try:
            yield proxy
        finally:
            stopping.set()
            acceptor.join()


def _serve(proxy: Proxy, sock: socket.socket) -> None:
    with sock, contextlib.suppress(OSError):
        sock.settimeout(30)
        head, rest = b"", b""
        while not rest:
            head += sock.recv(65536)
            head, rest, body = head.partition(b"\r\n\r\n")
        text = head.decode()
        proxy.seen.append(text)
        wanted = f"proxy-authorization: {proxy.login}".lower()
        if proxy.login is not None and wanted not in text.lower():
            sock.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        elif proxy.answer is not None:
            sock.sendall(f"{proxy.answer}\r\nContent-Length: 0\r\n\r\n".encode())
        else:
            _pass_on(sock, text, body)


def _pass_on(sock: socket.socket, head: str, body: bytes) -> None:
    method, url, version = head.split("\r\n")[0].split()
    host, _, port = (url if method == "CONNECT" else urlsplit(url).netloc).partition(":")
    with socket.create_connection((host, int(port or 80)), timeout=30) as server:
        if method == "CONNECT":
            sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            path = url.removeprefix(f"http://{urlsplit(url).netloc}")
            lines = [f"{method} {path} {version}", *head.split("\r\n")[1:]]
            server.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        back = threading.Thread(target=_pump, args=(server, sock), daemon=True)
        back.start()
        _pump(sock, server)
        back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)

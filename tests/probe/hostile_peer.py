"""One connection of the hostile server: the request that came, the bytes of an answer, and the pieces of a stream."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

TOKENS = ("one", " two", " three", " four", " five")
# What the model list names first; a request for another model is answered 404 by `strict_model`.
MODEL = "hostile-model"
STEP = 0.03
USAGE = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}

BEHAVIOURS: dict[str, Callable[["Peer"], None]] = {}


def behaviour(function: Callable[["Peer"], None]) -> Callable[["Peer"], None]:
    BEHAVIOURS[function.__name__] = function
    return function


@dataclass
class Peer:
    """One connection: the request that came, and how to answer it."""

    sock: socket.socket
    stopping: threading.Event
    method: str = ""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, object] = field(default_factory=dict)
    chunked: bool = True

    def wait(self, seconds: float) -> None:
        if self.stopping.wait(seconds):
            raise ConnectionAbortedError

    def head(self, status: str = "200 OK", kind: str | None = "text/event-stream", *extra: str) -> None:
        lines = [f"HTTP/1.1 {status}", "Connection: close", *extra]
        if kind is not None:
            lines.append(f"Content-Type: {kind}")
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
        self.sock.sendall("\r\n".join([*lines, "", ""]).encode())

    def send(self, data: bytes) -> None:
        self.sock.sendall(b"%x\r\n%s\r\n" % (len(data), data) if self.chunked else data)

    def end(self) -> None:
        if self.chunked:
            self.sock.sendall(b"0\r\n\r\n")

    def plain(self, status: str, kind: str, body: str, *extra: str) -> None:
        self.chunked = False
        data = body.encode()
        self.head(status, kind, f"Content-Length: {len(data)}", *extra)
        self.sock.sendall(data)

    def reset(self) -> None:
        """Close with a RST instead of a FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def hold(self) -> None:
        """Stay silent until the client goes or the server ends."""
        self.sock.settimeout(0.05)
        while not self.stopping.is_set():
            try:
                if not self.sock.recv(1):
                    return
            except TimeoutError:
                continue


def data(value: object) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"data: {text}\n\n".encode()


def chunk(delta: dict[str, object] | None, finish: str | None = None, **more: object) -> dict[str, object]:
    return {"id": "x", "object": "chat.completion.chunk", "choices": [_choice(delta, finish)], **more}


def _choice(delta: dict[str, object] | None, finish: str | None) -> dict[str, object]:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def usage_chunk(usage: dict[str, int]) -> dict[str, object]:
    return {"id": "x", "choices": [], "usage": usage}


def contents(texts: tuple[str, ...] = TOKENS, field_name: str = "content") -> Iterator[bytes]:
    for text in texts:
        yield data(chunk({field_name: text}))


ROLE = data(chunk({"role": "assistant", "content": ""}))
FINISH = data(chunk({}, "stop"))
END = data("[DONE]")


def stream(peer: Peer, *pieces: bytes, step: float = STEP) -> None:
    """Send each piece after a wait of `step` seconds."""
    for piece in pieces:
        peer.wait(step)
        peer.send(piece)


def read_request(peer: Peer) -> bool:
    """Read the request; False if the client went before it was whole."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = peer.sock.recv(65536)
        if not piece:
            return False
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    peer.method, peer.path, _ = first.split(" ")
    peer.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(peer.headers.get("content-length", "0")):
        piece = peer.sock.recv(65536)
        if not piece:
            return False
        body += piece
    peer.body = json.loads(body) if body else {}
    return True

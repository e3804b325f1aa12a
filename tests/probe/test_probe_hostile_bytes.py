"""More bytes than anybody can want: each answer is ended by a limit, and memory stays what it was."""

import gzip
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count
from unittest import mock

import pytest
from hostile import HostileServer
from hostile_dialects import DIALECTS
from hostile_peer import BEHAVIOURS, Peer
from probe_helpers import scenario, target, until

from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.targets.models import served_models
from inferwatch.errors import InferwatchError

GIGABYTE = 1 << 30
# The largest answer to 64 tokens is 1.25 MiB; what is decoded of a piece more, and what the sockets hold.
MOST_MEMORY = 12 << 20
MOST_SENT = 16 << 20
BLOCK = 1 << 16


class Flood:
    """Answers with a head and then with a block again and again, up to a gigabyte.

    Attributes:
        sent: The bytes that were sent behind the head.
    """

    def __init__(self, block: bytes, *head: str, chunked: bool = True, then: bytes = b"") -> None:
        self._first = "\r\n".join([*head, *(["Transfer-Encoding: chunked"] if chunked else []), "", ""]).encode()
        self._block = b"%x\r\n%s\r\n" % (len(block), block) if chunked else block
        self._then = b"%x\r\n%s\r\n" % (len(then), then) if chunked and then else then
        self.sent = 0
        self.ended = threading.Event()

    def __call__(self, peer: Peer) -> None:
        try:
            peer.sock.sendall(self._first + self._then)
            while self.sent < GIGABYTE and not peer.stopping.is_set():
                peer.sock.sendall(self._block)
                self.sent += len(self._block)
        finally:
            self.ended.set()


OK = "HTTP/1.1 200 OK"
STREAM = "Content-Type: text/event-stream"
LINES = "Content-Type: application/x-ndjson"
TOKEN = b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n'
END = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


def filled(piece: bytes) -> bytes:
    return piece * (BLOCK // len(piece))


# What floods, the API that is spoken, and the outcome.
FLOODS: dict[str, tuple[Callable[[], Flood], str, str]] = {
    "line ends": (lambda: Flood(filled(b"\n"), OK, STREAM), "openai-chat", "stream_error"),
    "carriage returns": (lambda: Flood(filled(b"\r"), OK, STREAM), "anthropic", "stream_error"),
    "comments": (lambda: Flood(filled(b": ping\n\n"), OK, STREAM), "openai-responses", "stream_error"),
    "zeros": (lambda: Flood(bytes(BLOCK), OK, STREAM), "openai-chat", "stream_error"),
    "one line": (lambda: Flood(filled(b"x"), OK, STREAM, then=b"data: "), "tgi", "stream_error"),
    "one event": (lambda: Flood(filled(b"data: x\n"), OK, STREAM), "llamacpp", "stream_error"),
    "unchunked": (lambda: Flood(filled(b": ping\n\n"), OK, STREAM, chunked=False), "openai-chat", "stream_error"),
    "empty lines": (lambda: Flood(filled(b"\n"), OK, LINES), "ollama", "stream_error"),
    "one json line": (lambda: Flood(filled(b"x"), OK, LINES), "ollama", "stream_error"),
    "tokens": (lambda: Flood(filled(TOKEN), OK, STREAM), "openai-chat", "stream_error"),
    "after the end": (lambda: Flood(filled(b": ping\n\n"), OK, STREAM, then=TOKEN + END), "openai-chat", "success"),
    "html": (lambda: Flood(filled(b"<p>"), OK, "Content-Type: text/html"), "openai-chat", "not_stream"),
    "no type": (lambda: Flood(filled(b"<p>"), OK), "openai-chat", "not_stream"),
    "an error": (lambda: Flood(filled(b"x"), "HTTP/1.1 500 Oops", "Content-Type: text/plain"), "ollama", "http_5xx"),
    "a redirect": (lambda: Flood(filled(b"x"), "HTTP/1.1 302 Found", "Location: /"), "openai-chat", "not_stream"),
    "a limit": (lambda: Flood(filled(b" "), "HTTP/1.1 429 Slow down", "Retry-After: 9"), "anthropic", "rate_limited"),
}


def probe(server: HostileServer, play: Callable[[Peer], None], api: str = "openai-chat", **more: object) -> ProbeResult:
    base = server.base("scripted")
    with mock.patch.dict(BEHAVIOURS, {"scripted": play}):
        url = f"{base}/v1" if api.startswith("openai") else base
        return run_probe(target(url, api=api), "short", scenario(**more), "m")  # type: ignore[arg-type]


@pytest.fixture
def most_memory() -> Iterator[Callable[[], int]]:
    """A function that returns how much was allocated at once since the test began."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    yield lambda: tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()


@pytest.mark.parametrize("name", FLOODS)
def test_a_gigabyte_of_nothing(name: str, hostile: HostileServer, most_memory: Callable[[], int]) -> None:
    make, api, outcome = FLOODS[name]
    flood = make()
    result = probe(hostile, flood, api)
    memory = most_memory()
    until(flood.ended.is_set, "the server saw that nobody reads")
    assert result.outcome == outcome, result.detail
    assert flood.sent < MOST_SENT
    assert memory < MOST_MEMORY


def test_every_api_is_flooded() -> None:
    assert {api for _, api, _ in FLOODS.values()} >= set(DIALECTS) - {"openai-completions"}


def test_a_document_without_end(hostile: HostileServer, most_memory: Callable[[], int]) -> None:
    flood = Flood(filled(b" "), OK, "Content-Type: application/json", then=b"{")
    result = probe(hostile, flood, stream=False)
    assert result.outcome == "stream_error" and "1310720 bytes" in result.detail
    assert most_memory() < MOST_MEMORY


def test_a_list_of_models_without_end(hostile: HostileServer, most_memory: Callable[[], int]) -> None:
    flood = Flood(filled(b" "), OK, "Content-Type: application/json", then=b"{")
    with mock.patch.object(hostile, "_answer", flood), pytest.raises(InferwatchError, match="4194304 bytes"):
        served_models(target(hostile.url("good")), 30)
    assert most_memory() < 2 * MOST_MEMORY


@pytest.mark.parametrize("levels", [1, 2], ids=["once", "twice"])
def test_a_bomb(levels: int, hostile: HostileServer, most_memory: Callable[[], int]) -> None:
    """A few kilobytes that unpack to a gigabyte."""
    bomb = gzip.compress(bytes(1 << 20)) * 1024
    if levels == 2:
        bomb = gzip.compress(bomb)
    encoding = ", ".join(["gzip"] * levels)

    def play(peer: Peer) -> None:
        peer.head("200 OK", "text/event-stream", f"Content-Encoding: {encoding}")
        peer.send(bomb)
        peer.end()

    result = probe(hostile, play)
    assert result.outcome == "stream_error", result.detail
    assert most_memory() < 4 * MOST_MEMORY


# Heads


def heads(lines: Iterator[bytes]) -> Callable[[Peer], None]:
    def play(peer: Peer) -> None:
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\n")
        for line in lines:
            peer.wait(0)
            peer.sock.sendall(line)

    return play


@pytest.mark.parametrize(
    "play",
    [
        heads(b"X-%d: y\r\n" % number for number in count()),
        heads(b"x" * BLOCK for _ in count()),
        heads(b"X: " + b"y" * BLOCK + b"\r\n" for _ in range(1)),
    ],
    ids=["headers without end", "a header without end", "a huge header"],
)
def test_a_head_that_is_too_large(
    play: Callable[[Peer], None], hostile: HostileServer, most_memory: Callable[[], int]
) -> None:
    result = probe(hostile, play, timeout="20s")
    assert result.outcome == "not_stream", result.detail
    assert most_memory() < MOST_MEMORY


def test_a_server_that_only_ever_says_continue(hostile: HostileServer, most_memory: Callable[[], int]) -> None:
    def play(peer: Peer) -> None:
        for _ in count():
            peer.wait(0.001)
            peer.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    assert probe(hostile, play, timeout="3s").outcome == "ttft_timeout"
    assert most_memory() < MOST_MEMORY

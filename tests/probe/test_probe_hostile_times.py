"""When a piece arrived is told truly in every framing: after it was sent, and before the server sent the next one.

The server sends no piece before the probe has seen the one before it, so a reader that waits for more than has come
would wait for ever, on the slowest machine as on the fastest.
"""

import select
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from certificates import Authority
from hostile import HostileServer
from hostile_dialects import DIALECTS
from hostile_peer import BEHAVIOURS, Peer
from hostile_player import check_verdict, probed
from hostile_script import STREAMS, Stream
from probe_helpers import PATIENCE

from exporters.probe.asking import ask
from exporters.probe.asking.reader import Exchange

# Between the kernel's clock and ours, when one is told on the other.
SLACK = 0.002


class Lockstep:
    """Sends the pieces of a stream, each when the one before it has been seen.

    Attributes:
        sent: When each piece was sent.
        seen: What the probe read, and when it says that this arrived.
        held: The pieces that were not seen until the next one was needed.
    """

    def __init__(self, pieces: list[bytes], head: bytes, wrap: Callable[[bytes], list[bytes]], end: bytes) -> None:
        self.pieces, self.head, self.wrap, self.end = pieces, head, wrap, end
        self.sent: list[float] = []
        self.seen: list[tuple[float, int]] = []
        self.held: list[int] = []
        self._changed = threading.Condition()

    def reads(self, exchange: Exchange, *arguments: Any) -> Iterator[tuple[float, bytes]]:
        for at, data in READS(exchange, *arguments):
            with self._changed:
                self.seen.append((at, len(data)))
                self._changed.notify_all()
            yield at, data

    def play(self, peer: Peer) -> None:
        peer.sock.sendall(self.head)
        for number, total in enumerate(accumulate(map(len, self.pieces))):
            self.sent.append(time.perf_counter())
            for part in self.wrap(self.pieces[number]):
                peer.sock.sendall(part)
            if not self._seen(total, peer):
                self.held.append(number)
                return
        peer.sock.sendall(self.end)

    def _seen(self, total: int, peer: Peer) -> bool:
        give_up = time.monotonic() + PATIENCE
        gone = False
        with self._changed:
            while sum(length for _, length in self.seen) < total:
                if gone or time.monotonic() > give_up:
                    return False
                # What can be read of a probe that waits is that it has gone, perhaps after it has seen all.
                gone = bool(select.select([peer.sock], [], [], 0)[0])
                self._changed.wait(0.05)
        return True

    def check(self) -> None:
        assert self.held == []
        ends = list(accumulate(map(len, self.pieces)))
        read = 0
        for at, length in self.seen:
            read += length
            number = next(number for number, end in enumerate(ends) if read <= end)
            assert self.sent[number] - SLACK <= at
            assert number + 1 == len(self.sent) or at <= self.sent[number + 1] + SLACK
        assert read == ends[-1]


READS = Exchange.reads


def whole_chunk(piece: bytes) -> list[bytes]:
    return [b"%x\r\n%s\r\n" % (len(piece), piece)]


class Halves:
    """Each two pieces are one chunk: its size is told with the first, and its end comes with the second."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces
        self._next = 0

    def __call__(self, piece: bytes) -> list[bytes]:
        number, self._next = self._next, self._next + 1
        if number % 2:
            return [piece + b"\r\n"]
        other = self._pieces[number + 1] if number + 1 < len(self._pieces) else b""
        return [b"%x\r\n%s" % (len(piece + other), piece), *([] if other else [b"\r\n"])]


def lockstep(stream: Stream, framing: str) -> Lockstep:
    pieces = [data for _, data in stream.steps()]
    more, end = "Transfer-Encoding: chunked", b"0\r\n\r\n"
    wrap: Callable[[bytes], list[bytes]] = whole_chunk
    if framing == "halves":
        wrap = Halves(pieces)
    elif framing == "close":
        more, wrap, end = "Connection: close", lambda piece: [piece], b""
    elif framing == "length":
        more, wrap, end = f"Content-Length: {sum(map(len, pieces))}", lambda piece: [piece], b""
    elif framing == "gzip":
        packer = zlib.compressobj(wbits=31)
        more += "\r\nContent-Encoding: gzip"

        def wrap(piece: bytes) -> list[bytes]:
            return whole_chunk(packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH))

    head = f"HTTP/1.1 200 OK\r\nContent-Type: {stream.content_type}\r\n{more}\r\n\r\n"
    return Lockstep(pieces, head.encode(), wrap, end)


def probe_in_lockstep(server: HostileServer, stream: Stream, framing: str, **more: Any) -> None:
    playing = lockstep(stream, framing)
    with ExitStack() as patches:
        patches.enter_context(mock.patch.dict(BEHAVIOURS, {"scripted": playing.play}))
        # As it is, pieces may add up for a while before they are looked at.
        patches.enter_context(mock.patch.object(ask, "HOLD_SECONDS", 0.0))
        patches.enter_context(mock.patch.object(Exchange, "reads", lambda *these: playing.reads(*these)))
        result, text = probed(stream, server.base("scripted"), **more)
    check_verdict(stream, result, text)
    playing.check()


FRAMINGS = ("chunked", "halves", "close", "length", "gzip")


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("api", DIALECTS)
def test_no_piece_waits_for_the_next_one(api: str, framing: str, hostile: HostileServer) -> None:
    probe_in_lockstep(hostile, STREAMS[f"base@{api}"], framing)


@pytest.mark.parametrize("name", ["comments", "utf8_split", "byte_order_mark", "coalesced", "empty_delta_first"])
def test_no_piece_of_an_odd_stream_waits_either(name: str, hostile: HostileServer) -> None:
    probe_in_lockstep(hostile, STREAMS[f"{name}@openai-chat"], "close")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory, tool: Callable[[str], Path]) -> Authority:
    made = Authority.make(tool("openssl"), tmp_path_factory.mktemp("times"))
    made.sign("server")
    return made


@pytest.mark.tool("openssl")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_no_piece_waits_inside_tls(authority: Authority, framing: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.folder / "server.pem", authority.folder / "server.key")
    with HostileServer(context) as server:
        trust = {"ca_file": str(authority.folder / "ca.pem")}
        probe_in_lockstep(server, STREAMS["base@openai-chat"], framing, tls=trust)

"""An answer that is whole in time is judged as whole, however late the probe looks at it."""

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from hostile import HostileServer
from hostile_dialects import DIALECTS
from hostile_peer import BEHAVIOURS, Peer
from probe_helpers import PATIENCE, scenario, target, until

from exporters.probe.asking import ask, reader
from exporters.probe.asking.reader import ConnectionLostError, Exchange, exchange, get
from exporters.probe.asking.run import run_probe
from exporters.probe.failures import ProbeError
from exporters.probe.wire.connection import Recorder
from exporters.probe.wire.deadline import Deadline

DOCUMENT = (
    b'{"choices": [{"message": {"content": "one two"}, "finish_reason": "stop"}], "usage": {"completion_tokens": 2}}'
)
EVENTS = b"".join([DIALECTS["openai-chat"]().text("one"), DIALECTS["openai-chat"]().end("stop", 1)[0]])
KINDS = {False: ("application/json", DOCUMENT), True: ("text/event-stream", EVENTS)}


def chunked(body: bytes) -> tuple[str, list[bytes]]:
    """The last chunk comes in two segments, so that no piece ends as a last chunk does."""
    return "Transfer-Encoding: chunked", [b"%x\r\n%s\r\n0\r" % (len(body), body), b"\n\r\n"]


def length(body: bytes) -> tuple[str, list[bytes]]:
    return f"Content-Length: {len(body)}", [body[:20], body[20:]]


def gzipped(body: bytes) -> tuple[str, list[bytes]]:
    packed = zlib.compress(body, wbits=31)
    return f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}", [packed]


def close(body: bytes) -> tuple[str, list[bytes]]:
    return "Connection: close", [body]


FRAMINGS = (chunked, length, gzipped, close)
Framing = Callable[[bytes], tuple[str, list[bytes]]]


def answering(kind: str, body: bytes, framing: Framing) -> Callable[[Peer], None]:
    """Send it whole, and leave the connection open unless its end is the end of the body."""
    head, pieces = framing(body)

    def play(peer: Peer) -> None:
        peer.sock.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{head}\r\n\r\n".encode())
        for piece in pieces:
            peer.wait(0.02)
            peer.sock.sendall(piece)
        if framing is not close:
            peer.hold()

    return play


@pytest.mark.parametrize("stream", KINDS, ids=["document", "events without their last word"])
@pytest.mark.parametrize("framing", FRAMINGS)
def test_nothing_is_held_until_the_deadline(framing: Framing, stream: bool, hostile: HostileServer) -> None:
    """Pieces may add up for longer than the probe has time, as in the last half second of a real one."""
    play = answering(*KINDS[stream], framing)
    with (
        mock.patch.dict(BEHAVIOURS, {"scripted": play}),
        mock.patch.object(ask, "HOLD_SECONDS", PATIENCE),
        mock.patch.object(reader, "LIMIT_MARGIN_SECONDS", 7.5),
    ):
        result = run_probe(target(hostile.url("scripted")), "short", scenario("8s", stream=stream), "m")
    assert result.outcome == "success"


def test_the_last_byte_that_was_announced_ends_the_waiting(hostile: HostileServer) -> None:
    """No limit is near; a probe that waited for more would wait for a minute."""
    began = time.monotonic()
    with (
        mock.patch.dict(BEHAVIOURS, {"scripted": answering(*KINDS[True], length)}),
        mock.patch.object(ask, "HOLD_SECONDS", 10 * PATIENCE),
    ):
        result = run_probe(target(hostile.url("scripted")), "short", scenario("60s"), "m")
    assert result.outcome == "success"
    assert time.monotonic() - began < 50


@contextmanager
def asked(hostile: HostileServer, play: Callable[[Peer], None]) -> Iterator[Exchange]:
    with mock.patch.dict(BEHAVIOURS, {"scripted": play}), Deadline(PATIENCE) as deadline:
        recorder = Recorder(deadline)
        with exchange("GET", hostile.url("scripted"), {}, None, recorder) as answer:
            yield answer


@pytest.mark.parametrize("framing", FRAMINGS)
def test_what_ended_before_the_deadline_is_whole(framing: Framing, hostile: HostileServer) -> None:
    """The time is up while the end waits to be looked at."""
    with asked(hostile, answering(*KINDS[True], framing)) as answer:
        source = answer.recorder.source
        assert source is not None
        inbox = source.stamped._inbox
        assert inbox is not None
        expected = sum(map(len, framing(EVENTS)[1]))
        reads = answer.reads(1 << 20)
        if framing is close:
            until(lambda: inbox._ended is not None, "the end of the connection")
        else:
            until(lambda: inbox._queued + len(source.fp.peek()) >= expected, "the whole body")
        answer.recorder.deadline.expire()
        assert b"".join(data for _, data in reads) == EVENTS


def test_half_a_page_is_not_taken_for_a_whole_one(hostile: HostileServer) -> None:
    """Neither is one that is asked for beside a probe, such as the list of models."""

    def play(peer: Peer) -> None:
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of")
        peer.hold()

    with mock.patch.dict(BEHAVIOURS, {"scripted": play}), pytest.raises(ProbeError, match="within 1 s") as caught:
        get(hostile.url("scripted"), {}, 1.0, 1 << 20)
    assert caught.value.outcome == "deadline"


def test_half_an_answer_is_not_taken_for_a_whole_one(hostile: HostileServer) -> None:
    """Only the end of the connection ends this body, and the deadline is what brings it about."""

    def play(peer: Peer) -> None:
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + EVENTS)
        peer.hold()

    with asked(hostile, play) as answer:
        reads = answer.reads(1 << 20)
        assert next(reads)[1] == EVENTS
        answer.recorder.deadline.expire()
        with pytest.raises(ConnectionLostError, match="interrupted"):
            next(reads)

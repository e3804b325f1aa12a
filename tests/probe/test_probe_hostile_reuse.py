"""Whatever an odd answer left on a connection that is kept, the next probe finds its own answer and nothing else."""

import threading
from unittest import mock

import pytest
from hostile import HostileServer
from hostile_peer import BEHAVIOURS, Peer, read_request
from hostile_player import check_verdict, framed, probed
from hostile_script import STREAMS, Stream
from probe_helpers import PATIENCE

from exporters.probe.wire.session import KeptConnection

NAMES = sorted(name for name, stream in STREAMS.items() if sum(len(data) for _, data in stream.steps()) < 1 << 18)


class TwoAnswers:
    """Answers the first request with one stream and each other with another, on as many connections as are made."""

    def __init__(self, first: bytes, other: bytes, *, broken: bool = False) -> None:
        self._first = first
        self._other = other
        self._broken = broken
        self.connections = 0
        self.requests = 0

    def __call__(self, peer: Peer) -> None:
        self.connections += 1
        while True:
            self.requests += 1
            peer.sock.sendall(self._first if self.requests == 1 else self._other)
            if self.requests == 1 and self._broken:
                peer.reset()
                return
            if not read_request(peer):
                return


def two_probes(server: HostileServer, stream: Stream, first: bytes) -> TwoAnswers:
    good = STREAMS[f"base@{stream.api}"]
    answers = TwoAnswers(first, b"".join(framed(good, "chunked")), broken=stream.broken)
    kept = KeptConnection()
    base = server.base("scripted")
    with mock.patch.dict(BEHAVIOURS, {"scripted": answers}):
        check_verdict(stream, *probed(stream, base, kept=kept))
        check_verdict(good, *probed(good, base, kept=kept))
        kept.close()
    assert answers.requests >= 2
    return answers


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_stream_leaves_nothing_to_the_next_one(name: str, hostile: HostileServer) -> None:
    stream = STREAMS[name]
    for framing in ("chunked", "length"):
        if stream.broken and framing == "length":
            continue
        two_probes(hostile, stream, b"".join(framed(stream, framing)))


GOOD = STREAMS["base@openai-chat"]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
BODY = b"".join(data for _, data in GOOD.steps())
LENGTH = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
SMUGGLED = HEAD + b"Content-Length: 14\r\n\r\ndata: [DONE]\n\n"
LEFT = {
    "a few bytes": b"data: {broken\n\n",
    "a whole other answer": SMUGGLED,
    "an informational answer": b"HTTP/1.1 102 Processing\r\n\r\n",
    "a timeout, as some proxies tell it": b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
}


def test_a_connection_with_nothing_left_on_it_is_used_again(hostile: HostileServer) -> None:
    assert two_probes(hostile, GOOD, LENGTH).connections == 1


@pytest.mark.parametrize("what", LEFT)
def test_what_comes_with_an_answer_is_no_answer_to_the_next_question(what: str, hostile: HostileServer) -> None:
    two_probes(hostile, GOOD, LENGTH + LEFT[what])


@pytest.mark.parametrize("what", LEFT)
def test_what_comes_between_two_questions_is_no_answer_to_the_second(what: str, hostile: HostileServer) -> None:
    """It lies on the connection before the second question is asked."""
    first_ended, sent = threading.Event(), threading.Event()
    good = b"".join(framed(GOOD, "chunked"))
    connections = []

    def play(peer: Peer) -> None:
        connections.append(peer)
        if len(connections) > 1:
            peer.sock.sendall(good)
            return
        peer.sock.sendall(LENGTH)
        first_ended.wait(PATIENCE)
        peer.sock.sendall(LEFT[what])
        sent.set()
        while read_request(peer):
            peer.sock.sendall(good)

    kept = KeptConnection()
    with mock.patch.dict(BEHAVIOURS, {"scripted": play}):
        check_verdict(GOOD, *probed(GOOD, hostile.base("scripted"), kept=kept))
        first_ended.set()
        assert sent.wait(PATIENCE)
        check_verdict(GOOD, *probed(GOOD, hostile.base("scripted"), kept=kept))
        kept.close()
    assert len(connections) == 2

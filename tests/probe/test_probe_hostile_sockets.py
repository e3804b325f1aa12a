"""Peers that are not there, or no longer: names, addresses, accept queues, connections that one end has forgotten."""

import gc
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest
from hostile import HostileServer
from hostile_peer import BEHAVIOURS, FINISH, Peer, contents, stream
from hostile_ports import deaf, queued
from probe_helpers import PATIENCE, scenario, target, until

from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.wire.resolver import MOST_HANGING, _hanging

LIMIT = 1.0
# Far above what the interruption itself takes, on any machine.
AT_MOST = 30.0


def probe(url: str, timeout: str = "1s", **more: object) -> ProbeResult:
    return run_probe(target(url), "short", scenario(timeout, **more), "m")


def timed(url: str, **more: object) -> ProbeResult:
    """Probe with a deadline of a second, and check that it was kept."""
    began = time.monotonic()
    result = probe(url, **more)
    assert LIMIT <= time.monotonic() - began < AT_MOST
    assert "1 s" in result.detail
    return result


# Half-open: the peer is gone without a word, which is to say that it never says anything again.


def half_open(pieces: tuple[bytes, ...]) -> Callable[[Peer], None]:
    def play(peer: Peer) -> None:
        for piece in pieces:
            peer.sock.sendall(piece)
        peer.hold()

    return play


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
BODY = b"".join(contents())
STAGES = {
    "after the request": ((), "ttft_timeout"),
    "inside the status": ((b"HTTP/1.1 2",), "ttft_timeout"),
    "inside the head": ((HEAD,), "ttft_timeout"),
    "after the head": ((HEAD + b"\r\n",), "ttft_timeout"),
    "inside the size of a chunk": ((HEAD + b"Transfer-Encoding: chunked\r\n\r\n1",), "ttft_timeout"),
    "inside a chunk": ((HEAD + b"Transfer-Encoding: chunked\r\n\r\nfff\r\n" + BODY,), "deadline"),
    "inside the first event": ((HEAD + b"\r\n" + BODY[:20],), "ttft_timeout"),
    "after tokens": ((HEAD + b"\r\n" + BODY,), "deadline"),
    "after the reason": ((HEAD + b"\r\n" + BODY + FINISH,), "deadline"),
}


def at_every_stage(server: HostileServer, timeout: str, **limits: str) -> dict[str, ProbeResult]:
    """Probe peers that are gone at each stage, all at once."""
    names = {stage: f"half-open-{number}" for number, stage in enumerate(STAGES)}
    plays = {names[stage]: half_open(pieces) for stage, (pieces, _) in STAGES.items()}

    def probe_at(stage: str) -> ProbeResult:
        return probe(server.url(names[stage]), timeout, **limits)

    with mock.patch.dict(BEHAVIOURS, plays), ThreadPoolExecutor(len(STAGES)) as pool:
        return dict(zip(STAGES, pool.map(probe_at, STAGES), strict=True))


def test_a_peer_that_is_gone_without_a_word(hostile: HostileServer) -> None:
    began = time.monotonic()
    results = at_every_stage(hostile, "4s")
    assert 4.0 <= time.monotonic() - began < AT_MOST
    assert {stage: result.outcome for stage, result in results.items()} == {
        stage: outcome for stage, (_, outcome) in STAGES.items()
    }
    assert all("4 s" in result.detail for result in results.values())


def test_the_limits_on_silence_see_it_sooner(hostile: HostileServer) -> None:
    results = at_every_stage(hostile, "8s", ttft_timeout="3s", gap_timeout="3s")
    # With the reason of the end the last token has come, and no other is waited for.
    for stage, (_, outcome) in STAGES.items():
        expected = outcome if outcome == "ttft_timeout" or stage == "after the reason" else "gap_timeout"
        assert results[stage].outcome == expected, stage
        assert ("8 s" if expected == "deadline" else "3 s") in results[stage].detail


def test_a_peer_that_says_no_more_and_listens(hostile: HostileServer) -> None:
    """Half-closed: its end of the stream is an end like any other."""

    def play(peer: Peer) -> None:
        peer.chunked = False
        peer.head()
        stream(peer, *contents(("a", "b", "c")), FINISH, step=0.0)
        peer.sock.shutdown(socket.SHUT_WR)
        peer.hold()

    with mock.patch.dict(BEHAVIOURS, {"scripted": play}):
        result = probe(hostile.url("scripted"), "60s")
    assert (result.outcome, result.output_tokens) == ("success", 3)


# Accept queues


def test_a_server_that_accepts_nobody() -> None:
    """The kernel completes the handshake of TCP for it, so it is the request that is not answered."""
    with deaf(8) as port:
        result = timed(f"http://127.0.0.1:{port}/v1")
    assert (result.outcome, "tcp" in result.phases) == ("ttft_timeout", True)


def test_a_deadlocked_accept_queue_that_is_full() -> None:
    with deaf(0) as port, queued(port):
        result = timed(f"http://127.0.0.1:{port}/v1")
    assert (result.outcome, result.phases) == ("connect", {})


# Names and addresses


def resolving(*addresses: tuple[str, int]) -> object:
    """Let every name have these addresses."""
    answers = [
        (socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))
        for host, port in addresses
    ]
    real = socket.getaddrinfo

    def resolve(host: str, *arguments: object, **more: object) -> object:
        return answers if host == "several.example" else real(host, *arguments, **more)  # type: ignore[arg-type]

    return mock.patch.object(socket, "getaddrinfo", resolve)


def url_of(server: HostileServer, name: str = "good") -> str:
    return server.url(name, host="several.example")


def test_the_first_address_refuses_and_the_second_answers(hostile: HostileServer, free_port: int) -> None:
    with resolving(("127.0.0.1", free_port), ("127.0.0.1", hostile.port)):
        result = probe(url_of(hostile), "60s")
    assert result.outcome == "success" and {"dns", "tcp"} <= set(result.phases)


def test_the_first_address_swallows_and_the_second_answers(hostile: HostileServer) -> None:
    """Each address has its share of the time that is left."""
    with deaf(0) as port, queued(port), resolving(("127.0.0.1", port), ("127.0.0.1", hostile.port)):
        result = probe(url_of(hostile), "8s")
    assert result.outcome == "success"
    # Half of the eight seconds went into the first.
    assert result.phases["tcp"] >= 3.9


def test_no_address_answers(free_port: int) -> None:
    with resolving(("127.0.0.1", free_port), ("127.0.0.2", free_port)):
        result = probe(f"http://several.example:{free_port}/v1", "20s")
    assert result.outcome == "connect" and "connection refused" in result.detail


def test_an_address_that_no_network_has(hostile: HostileServer) -> None:
    with resolving(("255.255.255.255", hostile.port)):
        result = probe(url_of(hostile), "20s")
    assert result.outcome == "connect" and result.phases.keys() == {"dns"}


def test_a_name_without_an_address(hostile: HostileServer) -> None:
    with resolving():
        result = probe(url_of(hostile), "20s")
    assert result.outcome in ("dns", "connect"), result.detail


@pytest.mark.parametrize("host", ["x" * 64 + ".example", "a..b", "xn--a.example", "no such name", "*.example"])
def test_a_name_that_cannot_be(host: str) -> None:
    answered = run_probe(
        target("http://chat.example/v1").model_copy(update={"url": f"http://{host}/v1"}), "short", scenario("20s"), "m"
    )
    assert answered.outcome in ("dns", "internal"), answered.detail
    assert "Traceback" not in answered.detail


@pytest.mark.parametrize("error", [socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_NONAME, socket.EAI_NODATA])
def test_a_resolver_that_fails(error: int) -> None:
    def fail(*_: object, **__: object) -> object:
        raise socket.gaierror(error, "the resolver's own words")

    with mock.patch.object(socket, "getaddrinfo", fail):
        result = probe("http://several.example/v1", "20s")
    assert (result.outcome, result.phases) == ("dns", {})
    assert "the name several.example was not resolved: the resolver's own words" in result.detail


def resolvers() -> int:
    return sum(thread.name == "probe-resolve" for thread in threading.enumerate())


def test_a_resolver_that_hangs_holds_up_no_more_than_a_few_threads(hostile: HostileServer) -> None:
    """However many probes give up on it; and when it answers again, those who wait by then have the answer."""
    release = threading.Event()
    real = socket.getaddrinfo

    def hang(host: str, *arguments: object, **more: object) -> object:
        release.wait(PATIENCE)
        return real("127.0.0.1", *arguments, **more)  # type: ignore[arg-type]

    with mock.patch.object(socket, "getaddrinfo", hang):
        url = hostile.url("good", host="slow.example")
        for _ in range(2 * MOST_HANGING):
            result = probe(url, "100ms")
            assert (result.outcome, result.phases) == ("dns", {}) and "within 0.1 s" in result.detail
        assert resolvers() == MOST_HANGING
        results: list[ProbeResult] = []
        thread = threading.Thread(target=lambda: results.append(probe(url, "60s")))
        thread.start()
        until(lambda: any(lookup.waiting for lookup in _hanging[("slow.example", hostile.port)]), "it waits")
        release.set()
        thread.join()
        until(lambda: resolvers() == 0, "the threads that resolved have ended")
        assert [result.outcome for result in results] == ["success"]
        assert not _hanging
        assert probe(url, "60s").outcome == "success"


# The end of a probe


ENDINGS = {
    "a status without a body": b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
    "a status with one": b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops",
    "a redirect": b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "an empty stream": HEAD + b"Content-Length: 0\r\n\r\n",
    "a whole stream": HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(BODY + FINISH), BODY + FINISH),
    "html": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\noops",
}


@pytest.mark.parametrize("name", ENDINGS)
def test_the_connection_is_closed_with_the_probe(name: str, hostile: HostileServer) -> None:
    """And not when garbage is collected next, whatever the probe ended in."""
    closed = threading.Event()

    def play(peer: Peer) -> None:
        peer.sock.sendall(ENDINGS[name])
        # It does not close, so that this is the probe's to do.
        if peer.sock.recv(1) == b"":
            closed.set()

    gc.collect()
    gc.disable()
    try:
        with mock.patch.dict(BEHAVIOURS, {"scripted": play}):
            probe(hostile.url("scripted"), "60s")
            assert closed.wait(PATIENCE / 4)
    finally:
        gc.enable()

"""Answers whose HTTP is odd or broken: status line, headers, framing, type, redirect; the stream in them is good."""

import threading
from collections.abc import Callable
from unittest import mock

import pytest
from hostile import HostileServer
from hostile_peer import BEHAVIOURS, Peer
from hostile_player import check_verdict, probed
from hostile_script import STREAMS, Stream
from probe_helpers import PATIENCE, scenario, target

from exporters.probe.asking.run import ProbeResult, run_probe

GOOD = STREAMS["base@openai-chat"]
BODY = b"".join(data for _, data in GOOD.steps())
# What follows the ten tokens.
END = sum(len(data) for _, data in GOOD.steps()[-3:])
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
TYPE = "Content-Type: text/event-stream"
OK = "HTTP/1.1 200 OK"
CLOSE = "Connection: close"
TE = "Transfer-Encoding: chunked"


def head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode()


def answered(server: HostileServer, *parts: bytes, stream: Stream = GOOD) -> tuple[ProbeResult, str]:
    def play(peer: Peer) -> None:
        for part in parts:
            peer.sock.sendall(part)

    with mock.patch.dict(BEHAVIOURS, {"scripted": play}):
        return probed(stream, server.base("scripted"))


FIRST, SECOND = BODY[:100], BODY[100:]
WHOLE = {
    "HTTP/1.0": head("HTTP/1.0 200 OK", TYPE) + BODY,
    "no reason phrase": head("HTTP/1.1 200", TYPE, CLOSE) + BODY,
    "lower-case names": head(OK, TYPE.lower(), "transfer-encoding: chunked") + CHUNKED,
    "no space after the colon": head(OK, "Content-Type:text/event-stream", "Transfer-Encoding:chunked") + CHUNKED,
    "line ends of LF alone": (head(OK, TYPE, CLOSE).replace(b"\r\n", b"\n")) + BODY,
    "a folded header": head(OK, TYPE, "X-Long: one\r\n  two", CLOSE) + BODY,
    "a header twice": head(OK, TYPE, "X-A: 1", "X-A: 2", TE) + CHUNKED,
    "neither length nor chunks nor close": head(OK, TYPE, "Connection: keep-alive") + BODY,
    "the exact length": head(OK, TYPE, f"Content-Length: {len(BODY)}") + BODY,
    "bytes behind the length": head(OK, TYPE, f"Content-Length: {len(BODY)}") + BODY + b"data: {broken\n\n",
    "bytes behind the last chunk": head(OK, TYPE, TE) + CHUNKED + b"data: {broken\n\n",
    "length and chunks": head(OK, TYPE, TE, "Content-Length: 7") + CHUNKED,
    "a chunk with an extension": head(OK, TYPE, TE) + b"%x;name=value\r\n%s\r\n0;last\r\n\r\n" % (len(BODY), BODY),
    "upper-case sizes": head(OK, TYPE, TE) + b"%X\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
    "zeros before the size": head(OK, TYPE, TE) + b"0000%x\r\n%s\r\n0000\r\n\r\n" % (len(BODY), BODY),
    "an event over two chunks": head(OK, TYPE, TE)
    + b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(FIRST), FIRST, len(SECOND), SECOND),
    "trailers": head(OK, TYPE, TE, "Trailer: X-Sum") + CHUNKED.removesuffix(b"\r\n") + b"X-Sum: 7\r\n\r\n",
    "a charset": head(OK, "Content-Type: text/event-stream; charset=utf-8", TE) + CHUNKED,
    "an upper-case type": head(OK, "Content-Type: Text/Event-Stream;Charset=UTF-8", TE) + CHUNKED,
    "text/plain": head(OK, "Content-Type: text/plain", TE) + CHUNKED,
    "octet-stream": head(OK, "Content-Type: application/octet-stream", TE) + CHUNKED,
    "an unknown type": head(OK, "Content-Type: nonsense", TE) + CHUNKED,
    "no type": head(OK, TE) + CHUNKED,
    "continue first": head("HTTP/1.1 100 Continue") + head(OK, TYPE, TE) + CHUNKED,
    "processing first": head("HTTP/1.1 102 Processing") * 3 + head(OK, TYPE, TE) + CHUNKED,
    "early hints first": head("HTTP/1.1 103 Early Hints", "Link: </x>; rel=preload") + head(OK, TYPE, TE) + CHUNKED,
    "an encoding that is none": head(OK, TYPE, TE, "Content-Encoding: identity") + CHUNKED,
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_answer(name: str, hostile: HostileServer) -> None:
    check_verdict(GOOD, *answered(hostile, WHOLE[name]))


# The outcome, and the output tokens that were seen.
BROKEN: dict[str, tuple[bytes, str, int | None]] = {
    "nothing": (b"", "connection_lost", None),
    "half a status line": (b"HTTP/1.1 2", "not_stream", None),
    "no HTTP": (b"hello\r\n\r\n", "not_stream", None),
    "a status of letters": (head("HTTP/1.1 abc OK", TYPE) + BODY, "not_stream", None),
    "HTTP/2 frames": (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18), "not_stream", None),
    # http.client takes the end of the connection for the end of the head.
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Type: text/ev", "not_stream", None),
    "a length not reached": (head(OK, TYPE, f"Content-Length: {len(BODY) + 9}") + BODY, "success", 10),
    "a length not reached, cut": (head(OK, TYPE, f"Content-Length: {len(BODY)}") + BODY[:-END], "connection_lost", 10),
    "a length that is short": (head(OK, TYPE, f"Content-Length: {len(BODY) - END}") + BODY, "truncated", 10),
    "no last chunk": (head(OK, TYPE, TE) + CHUNKED.removesuffix(b"0\r\n\r\n"), "success", 10),
    "half a chunk": (head(OK, TYPE, TE) + CHUNKED[: -END - 7], "connection_lost", 10),
    "a size of letters": (head(OK, TYPE, TE) + b"xyz\r\n" + BODY, "connection_lost", None),
    "an empty size": (head(OK, TYPE, TE) + b"\r\n" + BODY, "connection_lost", None),
    "chunks that are none": (head(OK, TYPE, TE) + BODY, "connection_lost", None),
    "length 0": (head(OK, TYPE, "Content-Length: 0"), "no_tokens", None),
    "no content": (head("HTTP/1.1 204 No Content", TYPE), "not_stream", None),
    "partial content": (head("HTTP/1.1 206 Partial Content", TYPE, TE) + CHUNKED, "not_stream", None),
    "created": (head("HTTP/1.1 201 Created", TYPE, TE) + CHUNKED, "not_stream", None),
    "html": (head(OK, "Content-Type: text/html", TE) + CHUNKED, "not_stream", None),
    "json": (head(OK, "Content-Type: application/json", TE) + CHUNKED, "not_stream", None),
    "JSON lines": (head(OK, "Content-Type: application/x-ndjson", TE) + CHUNKED, "success", 10),
    "gzip that is none": (head(OK, TYPE, TE, "Content-Encoding: gzip") + CHUNKED, "stream_error", None),
    "an unknown encoding": (head(OK, TYPE, TE, "Content-Encoding: rot13") + CHUNKED, "success", 10),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_answer(name: str, hostile: HostileServer) -> None:
    sent, outcome, output = BROKEN[name]
    result, _ = answered(hostile, sent)
    assert (result.outcome, result.output_tokens) == (outcome, output), result.detail
    assert result.detail or outcome == "success"


def test_nothing_that_a_server_sends_is_in_a_log(hostile: HostileServer, caplog: pytest.LogCaptureFixture) -> None:
    """urllib3 would warn of headers that it cannot read, and quote them."""
    unreadable = head(OK, TYPE, CLOSE).removesuffix(b"\r\n") + b"secret, and no colon\r\nX: secret\r\n\r\n"
    with caplog.at_level("DEBUG"):
        check_verdict(GOOD, *answered(hostile, unreadable + BODY))
        for sent, _, _ in BROKEN.values():
            answered(hostile, sent)
    assert "secret" not in caplog.text and "w0" not in caplog.text
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR", "CRITICAL")]


STATUSES = {
    300: "not_stream", 301: "not_stream", 302: "not_stream", 303: "not_stream", 304: "not_stream", 307: "not_stream",
    308: "not_stream", 400: "http_4xx", 401: "auth", 402: "http_4xx", 403: "auth", 404: "not_found", 405: "http_4xx",
    406: "http_4xx", 408: "http_4xx", 409: "http_4xx", 410: "http_4xx", 413: "http_4xx", 415: "http_4xx",
    418: "http_4xx", 422: "http_4xx", 424: "http_4xx", 425: "http_4xx", 429: "rate_limited", 431: "http_4xx",
    451: "http_4xx", 499: "http_4xx", 500: "http_5xx", 501: "http_5xx", 502: "http_5xx", 503: "http_5xx",
    504: "http_5xx", 507: "http_5xx", 520: "http_5xx", 524: "http_5xx", 529: "http_5xx", 599: "http_5xx",
    600: "not_stream", 999: "not_stream",
}  # fmt: skip


@pytest.mark.parametrize("status", STATUSES)
def test_a_status(status: int, hostile: HostileServer) -> None:
    """Each with the good stream behind it, which is not looked at."""
    # The phrase is the server's own, and no word of it is shown.
    length = f"Content-Length: {0 if status == 304 else len(BODY)}"
    sent = head(f"HTTP/1.1 {status} secret phrase", TYPE, length, "X-Secret: secret") + BODY
    result, _ = answered(hostile, sent)
    assert (result.outcome, result.status_code, result.output_tokens) == (STATUSES[status], status, None)
    assert str(status) in result.detail or 300 <= status < 400
    assert "secret" not in result.detail and "w0" not in result.detail


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("http://elsewhere.example/v1?key=secret#secret", "to http://elsewhere.example/v1, which"),
        ("https://user:secret@elsewhere.example/v1", "to https://elsewhere.example/v1, which"),
        ("/login?next=secret", "to /login, which"),
        ("//elsewhere.example/v1", "to //elsewhere.example/v1, which"),
        ("", "redirects, which"),
        ("http://[x", "to what is no URL, which"),
        ("//[::1/v1", "to what is no URL, which"),
        ("http://h]", "to what is no URL, which"),
    ],
)
def test_a_redirect_is_shown_and_not_followed(status: int, location: str, shown: str, hostile: HostileServer) -> None:
    before = len(hostile.requests)
    result, _ = answered(hostile, head(f"HTTP/1.1 {status} Moved", f"Location: {location}", "Content-Length: 0"))
    assert result.outcome == "not_stream" and "secret" not in result.detail
    assert shown in result.detail
    assert len(hostile.requests) == before + 1
    assert "final address in url:" in result.detail


@pytest.mark.parametrize("name", [*BROKEN, "503 with a time", "429 with a time", "401 that asks for a login"])
def test_nothing_is_sent_twice(name: str, hostile: HostileServer) -> None:
    """A retry would be a second bill, and hide what the first request met."""
    more = {
        "503 with a time": head("HTTP/1.1 503 Busy", "Retry-After: 0", "Content-Length: 0"),
        "429 with a time": head("HTTP/1.1 429 Slow down", "Retry-After: 0", "Content-Length: 0"),
        "401 that asks for a login": head("HTTP/1.1 401 No", "WWW-Authenticate: Digest qop=auth", "Content-Length: 0"),
    }
    before = len(hostile.requests)
    answered(hostile, more[name] if name in more else BROKEN[name][0])
    assert len(hostile.requests) == before + 1


# Servers that answer before they have read everything


LARGE = "word " * 4_000_000


def probe_large(server: HostileServer, play: Callable[[Peer], object], timeout: str = "20s") -> ProbeResult:
    """Ask with a prompt that no socket buffer holds, a server that reads the head of a request and no more."""

    def serve(peer: Peer) -> bool:
        peer.sock.recv(100)
        play(peer)
        return False

    with mock.patch("hostile.read_request", serve):
        return run_probe(target(server.url("good")), "short", scenario(timeout, prompt=LARGE), "m")


def test_a_refusal_while_the_request_is_still_being_sent(hostile: HostileServer) -> None:
    def play(peer: Peer) -> None:
        peer.plain("413 Content Too Large", "text/plain", "")
        # As nginx does: it lets the client see the answer before the connection goes.
        peer.sock.shutdown(1)
        while peer.sock.recv(1 << 20):
            pass

    result = probe_large(hostile, play)
    assert (result.outcome, result.status_code) == ("http_4xx", 413)


def test_a_refusal_and_a_reset_at_once(hostile: HostileServer) -> None:
    """A server that closes with something unread resets the connection; what it said before is heard all the same."""

    def serve(peer: Peer) -> bool:
        peer.sock.recv(100)
        peer.plain("413 Content Too Large", "text/plain", "too much")
        return False

    with mock.patch("hostile.read_request", serve):
        result = run_probe(target(hostile.url("good")), "short", scenario(), "m")
    assert (result.outcome, result.status_code) == ("http_4xx", 413)


def test_a_reset_while_the_request_is_still_being_sent(hostile: HostileServer) -> None:
    result = probe_large(hostile, Peer.reset)
    assert (result.outcome, result.status_code) == ("connection_lost", None)
    assert "broke while the request was sent" in result.detail


def test_a_server_that_does_not_take_the_request(hostile: HostileServer) -> None:
    gone = threading.Event()
    try:
        result = probe_large(hostile, lambda _: gone.wait(PATIENCE), "6s")
    finally:
        gone.set()
    assert result.outcome == "ttft_timeout"
    assert "did not take the whole request within 6 s" in result.detail

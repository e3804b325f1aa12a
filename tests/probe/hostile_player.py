"""Plays odd streams to a probe: stamped with the seconds of their scripts, or over a real connection."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType, SimpleNamespace
from typing import Any
from unittest import mock

import hostile_contents  # noqa: F401 - registers its streams
import hostile_endings  # noqa: F401 - registers its streams
import hostile_framing  # noqa: F401 - registers its streams
import hostile_other_apis  # noqa: F401 - registers its streams
import hostile_research  # noqa: F401 - registers its streams
import pytest
from hostile_peer import Peer
from hostile_script import Stream
from probe_helpers import scenario, target

from exporters.probe.asking import ask
from exporters.probe.asking.reader import ConnectionLostError, Exchange
from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.asking.timeline import text_of
from exporters.probe.asking.transcript import Transcript
from exporters.probe.wire.connection import Recorder
from exporters.probe.wire.session import KeptConnection

ALLOWED = ["stop", "length", "tool_calls"]
Cut = Callable[[bytes], list[bytes]]


def uncut(data: bytes) -> list[bytes]:
    return [data]


class _Scripted(Exchange):
    """An exchange whose reads give the pieces of a script at its seconds."""

    stream: Stream
    cut: Cut

    def reads(self, *_: Any) -> Iterator[tuple[float, bytes]]:
        start = self.recorder.sending_at or 0.0
        # The seconds of a script pass in none, so that only stamps can break a limit.
        self.recorder.deadline.waiting = lambda: False
        for at, data in self.stream.steps():
            for piece in self.cut(data):
                yield start + at, piece
        if self.stream.broken:
            raise ConnectionLostError("reset")


def played(stream: Stream, cut: Cut = uncut, **limits: str) -> tuple[ProbeResult, str]:
    """Return what a probe makes of a stream whose reads end where each step does, and the text that a user sees."""

    @contextmanager
    def exchange(_: str, url: str, __: object, ___: object, recorder: Recorder, *____: object) -> Iterator[Exchange]:
        assert url == f"http://127.0.0.1{stream.dialect.path}"
        recorder.begin_sending()
        recorder.headers_at = recorder.sending_at
        headers = {"Content-Type": stream.content_type}
        answer = _Scripted(SimpleNamespace(status_code=int(stream.status[:3]), headers=headers), recorder)  # type: ignore[arg-type]
        answer.stream, answer.cut = stream, cut
        yield answer

    with mock.patch.object(ask, "exchange", exchange):
        return probed(stream, "http://127.0.0.1", limits=limits)


def probed(
    stream: Stream,
    base: str,
    timeout: str = "60s",
    kept: KeptConnection | None = None,
    limits: Mapping[str, str] = MappingProxyType({}),
    **more: Any,
) -> tuple[ProbeResult, str]:
    """Probe a server's base address, without the version that an API's path may begin with."""
    url = f"{base}/v1" if stream.api.startswith("openai") else base
    asked = scenario(timeout, finish_reasons=ALLOWED, **limits)
    transcript = Transcript()
    result = run_probe(target(url, api=stream.api, **more), "short", asked, "m", (), transcript, kept)
    return result, "".join(map(text_of, transcript.answers))


def near(seconds: float | None) -> object:
    return None if seconds is None else pytest.approx(seconds, abs=1e-6)


def check_verdict(stream: Stream, result: ProbeResult, text: str) -> None:
    """Check all that does not depend on when the pieces came."""
    facts = stream.facts
    found = (result.outcome, result.status_code, result.output_tokens, result.token_source, result.finish_reason)
    assert found == (facts.outcome, facts.status, facts.output, facts.source, facts.finish), result.detail
    assert text == facts.text
    assert (result.detail == "") == (facts.outcome == "success") and "secret" not in result.detail
    if facts.outcome == "success" and facts.source == "usage":
        assert result.prompt_tokens == 11


def check_times(stream: Stream, result: ProbeResult) -> None:
    facts = stream.facts
    assert result.ttfr_seconds == near(facts.ttfr_of(stream.dialect))
    assert result.ttft_seconds == near(facts.ttft)
    assert result.e2e_seconds == near(facts.e2e)
    assert result.tpot_seconds == near(facts.tpot)
    assert result.buffered == facts.buffered
    if facts.tail is not None:
        assert result.phases["tail"] == near(facts.tail)


def encoded(stream: Stream) -> list[tuple[float, bytes]]:
    """Return the steps as they travel: each flushed on its own if the stream is compressed."""
    if stream.encoding is None:
        return stream.steps()
    packer = zlib.compressobj(wbits=31)
    steps = [(at, packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)) for at, data in stream.steps()]
    return [*steps, (steps[-1][0], packer.flush())]


FRAMINGS = ("chunked", "close", "length")


def framed(stream: Stream, framing: str) -> Iterator[bytes]:
    """Yield the bytes of the whole answer: the head, each step, and what ends the body."""
    pieces = [data for _, data in encoded(stream)]
    head = [f"HTTP/1.1 {stream.status}", f"Content-Type: {stream.content_type}"]
    if stream.encoding:
        head.append(f"Content-Encoding: {stream.encoding}")
    head.append(
        {
            "chunked": "Transfer-Encoding: chunked",
            "close": "Connection: close",
            "length": f"Content-Length: {sum(map(len, pieces)) + (7 if stream.broken else 0)}",
        }[framing]
    )
    yield "\r\n".join([*head, "", ""]).encode()
    for piece in pieces:
        yield b"%x\r\n%s\r\n" % (len(piece), piece) if framing == "chunked" else piece
    if framing == "chunked" and not stream.broken:
        yield b"0\r\n\r\n"


def answer_in(pieces: list[bytes], broken: bool) -> Callable[[Peer], None]:
    """Return a behaviour that sends these pieces, each in a segment of its own, and then ends the connection."""

    def play(peer: Peer) -> None:
        for piece in pieces:
            peer.sock.sendall(piece)
        if broken:
            peer.reset()

    return play

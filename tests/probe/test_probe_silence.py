"""`ttft_timeout` and `gap_timeout`: judged by when tokens came, and never by when the probe looked at them."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from hostile import HostileServer
from hostile_dialects import DIALECTS, Dialect
from hostile_peer import BEHAVIOURS, Peer
from hostile_player import played
from hostile_script import STREAMS, WORDS, Steps, ended, tokens
from probe_helpers import PATIENCE, scenario, target, until

from exporters.probe.asking.reader import Exchange
from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.asking.silence import Silence
from exporters.probe.protocols import StreamEvent
from exporters.probe.wire.deadline import Deadline

TOKEN = StreamEvent("content", "x")
PING = StreamEvent()
READS = Exchange.reads


def steady(say: Dialect) -> Steps:
    """The first token at 0.3 s, one each 0.1 s, the end 0.4 s after the last."""
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:5], step=0.1)
    yield from ended(say.end("stop", 5), 1.1)


def stalling(say: Dialect) -> Steps:
    """Silent for 0.3 s after the second token, but for what is no token."""
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:2], step=0.1)
    yield 0.5, say.empty()
    yield from tokens(say, WORDS[2:5], first=0.7, step=0.1)
    yield from ended(say.end("stop", 5), 1.0)


def in_one_read(say: Dialect) -> Steps:
    yield 0.3, b"".join(say.text(word) for word in WORDS[:5])
    yield from ended(say.end("stop", 5), 0.35)


def late_and_broken(say: Dialect) -> Steps:
    """Silent for 0.3 s; the token that ends the silence has something unreadable behind it in the same read."""
    yield from tokens(say, WORDS[:2], step=0.1)
    yield 0.7, say.text(WORDS[2]) + (b"{broken\n" if say.api == "ollama" else b"data: {broken\n\n")


def late_and_last(say: Dialect) -> Steps:
    """Silent for 0.3 s; what ends it is the end, too, and lacks its last line end."""
    yield from tokens(say, WORDS[:2], step=0.1)
    yield 0.7, say.text(WORDS[2]).rstrip(b"\n") + (b"" if say.api == "ollama" else b"\n")


@pytest.mark.parametrize("api", DIALECTS)
@pytest.mark.parametrize(
    ("script", "limits", "outcome", "output"),
    [
        (steady, {"ttft_timeout": "300ms", "gap_timeout": "101ms"}, "success", 5),
        (steady, {"ttft_timeout": "299ms"}, "ttft_timeout", None),
        (steady, {"gap_timeout": "99ms"}, "gap_timeout", 1),
        (steady, {"gap_timeout": "200ms"}, "success", 5),
        (stalling, {"gap_timeout": "299ms"}, "gap_timeout", 2),
        (stalling, {"gap_timeout": "301ms"}, "success", 5),
        (stalling, {"ttft_timeout": "299ms", "gap_timeout": "1s"}, "ttft_timeout", None),
        (in_one_read, {"gap_timeout": "1ms"}, "success", 5),
        (late_and_broken, {"gap_timeout": "299ms"}, "gap_timeout", 2),
        (late_and_broken, {"gap_timeout": "301ms"}, "stream_error", 3),
        (late_and_last, {"gap_timeout": "299ms"}, "gap_timeout", 2),
        (late_and_last, {"gap_timeout": "301ms"}, "truncated", 3),
    ],
)
def test_silence_is_judged_by_the_stamps(
    script: Callable[[Dialect], Steps], limits: dict[str, str], outcome: str, output: int | None, api: str
) -> None:
    result, _ = played(replace(STREAMS[f"base@{api}"], script=script), **limits)
    assert (result.outcome, result.output_tokens) == (outcome, output), result.detail
    if outcome in limits:
        (broken,) = [limit for name, limit in limits.items() if name == outcome]
        assert f"{int(broken.removesuffix('ms')) / 1000:g} s" in result.detail


def test_a_token_ends_the_silence_and_a_reason_ends_all_of_it() -> None:
    silence = Silence(0.0, 2.0, 1.0)
    assert not silence.broken_by(2.0, [TOKEN]) and silence.broken_by(2.1, [PING, TOKEN])
    assert not silence.broken_by(9.0, [PING]), "what is no token says nothing"
    silence.hear(1.0, [PING])
    assert (silence.since, silence.seconds) == (0.0, 2.0)
    silence.hear(1.5, [TOKEN])
    assert silence.broken_by(2.6, [TOKEN]) and not silence.broken_by(2.4, [TOKEN])
    silence.hear(2.0, [StreamEvent("content", "x", "stop")])
    assert not silence.broken_by(99.0, [TOKEN])
    assert silence.hear(99.0, [TOKEN, StreamEvent(done=True)])


@pytest.mark.parametrize(("gap", "hold"), [(None, float("inf")), (0.1, 0.0), (0.5, 0.0), (0.8, 0.3), (10.0, 9.5)])
def test_a_short_limit_is_looked_after_at_once(gap: float | None, hold: float) -> None:
    assert Silence(0.0, None, gap).longest_hold == pytest.approx(hold)


# With real connections and clocks


def probe(hostile: HostileServer, play: Callable[[Peer], None], **limits: str) -> ProbeResult:
    with mock.patch.dict(BEHAVIOURS, {"scripted": play}):
        return run_probe(target(hostile.url("scripted")), "short", scenario("60s", **limits), "m")


def test_a_gap_behind_the_first_token_is_found(hostile: HostileServer) -> None:
    """Both tokens come within the half second in which pieces may add up."""

    def play(peer: Peer) -> None:
        say = DIALECTS["openai-chat"]()
        peer.head()
        peer.send(say.text("one"))
        peer.wait(0.4)
        for piece in (say.text(" two"), *say.end("stop", 2)):
            peer.send(piece)
        peer.end()

    result = probe(hostile, play, gap_timeout="100ms")
    assert (result.outcome, result.output_tokens) == ("gap_timeout", 1)


def test_a_probe_that_looks_late_blames_no_silence(hostile: HostileServer) -> None:
    """A token comes each 0.2 s, and the probe is held up for longer than the limit, after the first."""

    def play(peer: Peer) -> None:
        say = DIALECTS["openai-chat"]()
        peer.head()
        for number in range(15):
            peer.send(say.text(f" w{number}"))
            peer.wait(0.2)
        for piece in say.end("stop", 15):
            peer.send(piece)
        peer.end()

    def held_up(exchange: Exchange, *arguments: Any) -> Iterator[tuple[float, bytes]]:
        for number, (at, data) in enumerate(READS(exchange, *arguments)):
            yield at, data
            if not number:
                time.sleep(2.4)

    with mock.patch.object(Exchange, "reads", held_up):
        result = probe(hostile, play, gap_timeout="2s")
    assert (result.outcome, result.output_tokens) == ("success", 15)


def test_a_limit_is_not_reached_while_something_waits_to_be_looked_at() -> None:
    with Deadline(PATIENCE) as deadline:
        looked = False
        asked = []

        def waiting() -> bool:
            asked.append(looked)
            return looked

        deadline.waiting = waiting
        deadline.limit(0.01, time.perf_counter() - 5)
        until(lambda: len(asked) > 3, "somebody who asks whether all was looked at")
        assert not deadline.passed
        looked = True
        until(lambda: deadline.passed, "the limit")
        assert deadline.passed_limit == 0.01


def test_the_whole_time_is_up_whatever_waits_to_be_looked_at() -> None:
    with Deadline(0.1) as deadline:
        deadline.waiting = lambda: False
        deadline.limit(0.01)
        until(lambda: deadline.passed, "the deadline")
        assert (deadline.passed_limit, deadline.passed_after) == (None, 0.1)

"""Servers that are never silent and never say anything: keep-alives without end, in every API's own way."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest
from hostile import HostileServer
from hostile_dialects import DIALECTS, Dialect
from hostile_peer import BEHAVIOURS, Peer
from probe_helpers import scenario, target

from exporters.probe.asking.run import ProbeResult, run_probe

Keep = Callable[[Dialect], bytes]
# What keeps a connection alive and is no token.
KEPT: dict[str, Keep] = {
    "empty events": lambda say: say.empty(),
    "starts": lambda say: say.start() or say.empty(),
    "comments": lambda say: b"\n" if say.api == "ollama" else b": ping\n\n",
    "pings": lambda say: b"\n" if say.api == "ollama" else b'event: ping\ndata: {"type": "ping"}\n\n',
}
# Far above what the interruption takes on any machine, and far below what the server has to say.
AT_MOST = 40.0


def endless(api: str, keep: Keep, before: Callable[[Dialect], bytes]) -> Callable[[Peer], None]:
    def play(peer: Peer) -> None:
        say = DIALECTS[api]()
        peer.head("200 OK", say.content_type)
        if first := before(say):
            peer.send(first)
        while True:
            peer.wait(0.02)
            peer.send(keep(say))

    return play


def probes(server: HostileServer, plays: dict[tuple[str, str], Callable[[Peer], None]]) -> dict[str, ProbeResult]:
    """Probe them all at once, with limits on silence that lie far below the deadline."""

    def probe(key: tuple[str, str]) -> ProbeResult:
        api, name = key
        base = server.base(name)
        url = f"{base}/v1" if api.startswith("openai") else base
        limits = scenario("60s", ttft_timeout="2s", gap_timeout="2s")
        return run_probe(target(url, api=api), "short", limits, "m")

    names = {key: f"scripted-{number}" for number, key in enumerate(plays)}
    with (
        mock.patch.dict(BEHAVIOURS, {names[key]: play for key, play in plays.items()}),
        ThreadPoolExecutor(len(plays)) as pool,
    ):
        results = pool.map(probe, [(api, names[api, kept]) for api, kept in plays])
        return dict(zip([f"{api}, {kept}" for api, kept in plays], results, strict=True))


@pytest.mark.parametrize(
    ("before", "outcome", "tokens"),
    [
        (lambda _: b"", "ttft_timeout", None),
        (lambda say: say.start(), "ttft_timeout", None),
        (lambda say: say.text("one") + say.text(" two"), "gap_timeout", 2),
    ],
    ids=["from the start", "after the start", "after two tokens"],
)
def test_what_is_no_token_moves_no_limit(
    before: Callable[[Dialect], bytes], outcome: str, tokens: int | None, hostile: HostileServer
) -> None:
    plays = {(api, kept): endless(api, keep, before) for api in DIALECTS for kept, keep in KEPT.items()}
    began = time.monotonic()
    results = probes(hostile, plays)
    assert time.monotonic() - began < AT_MOST
    assert {name: result.outcome for name, result in results.items()} == dict.fromkeys(results, outcome)
    assert {result.output_tokens for result in results.values()} == {tokens}
    assert all("2 s" in result.detail for result in results.values())


def test_a_token_moves_the_limit(hostile: HostileServer) -> None:
    """Six tokens, one each half second: 3 s in all, and never silent for 2 s."""

    def steady(api: str) -> Callable[[Peer], None]:
        def play(peer: Peer) -> None:
            say = DIALECTS[api]()
            peer.head("200 OK", say.content_type)
            for number in range(6):
                peer.wait(0.5)
                peer.send(say.text(f" w{number}"))
            for piece in say.end("stop", 6):
                peer.send(piece)
            peer.end()

        return play

    results = probes(hostile, {(api, "steady"): steady(api) for api in DIALECTS})
    # A busy machine may hold the server back for longer; that is then what is told.
    outcomes = {result.outcome for result in results.values()}
    assert outcomes <= {"success", "gap_timeout"} and "success" in outcomes
    for result in results.values():
        if result.outcome == "success":
            assert result.output_tokens == 6
            assert result.e2e_seconds is not None and result.e2e_seconds >= 3.0
            assert result.tpot_seconds is not None and result.tpot_seconds >= 0.49

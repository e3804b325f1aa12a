"""Every odd stream of every API, each piece stamped with the second of its script, so that the figures are exact."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import hostile_contents  # noqa: F401 - registers its streams
import hostile_endings  # noqa: F401 - registers its streams
import hostile_framing  # noqa: F401 - registers its streams
import hostile_other_apis  # noqa: F401 - registers its streams
import hostile_research  # noqa: F401 - registers its streams
import pytest
from hostile_script import STREAMS, Stream
from probe_helpers import scenario, target

from exporters.probe import ask
from exporters.probe.connection import Recorder
from exporters.probe.protocols import PROTOCOLS
from exporters.probe.reader import ConnectionLostError, Exchange
from exporters.probe.run import ProbeResult, run_probe
from exporters.probe.timeline import Answer, text_of

# By the names that the research gave them: what ten tools were run against.
THE_35 = (
    "base", "no_usage", "comments", "ping_mid", "reasoning_content", "reasoning", "reasoning_only", "tool_only", "crlf",
    "crlf_coalesced", "nospace", "split", "split_at_blank", "utf8_split", "u2028", "err_first", "err_mid", "err_event",
    "truncated_abrupt", "truncated_clean", "no_done", "azure_first", "coalesced", "all_at_once", "multi_token",
    "cont_usage", "usage_in_finish", "empty", "event_ping", "delta_null", "slow_done", "empty_delta_first", "json200",
    "http429", "gzip",
)  # fmt: skip
NAMES = {stream.name for stream in STREAMS.values()}


class Scripted(Exchange):
    """An exchange whose reads give the pieces of a script at its seconds."""

    stream: Stream

    def reads(self, *_: Any) -> Iterator[tuple[float, bytes]]:
        start = self.recorder.sending_at or 0.0
        for at, data in self.stream.steps():
            yield start + at, data
        if self.stream.broken:
            raise ConnectionLostError("reset")


def played(stream: Stream, monkeypatch: pytest.MonkeyPatch, **more: Any) -> tuple[ProbeResult, list[Answer]]:
    @contextmanager
    def exchange(_: str, url: str, __: object, ___: object, recorder: Recorder, *____: object) -> Iterator[Exchange]:
        assert url == f"http://127.0.0.1{stream.dialect.path}"
        recorder.begin_sending()
        recorder.headers_at = recorder.sending_at
        headers = {"Content-Type": stream.content_type}
        answer = Scripted(SimpleNamespace(status_code=int(stream.status[:3]), headers=headers), recorder)  # type: ignore[arg-type]
        answer.stream = stream
        yield answer

    monkeypatch.setattr(ask, "exchange", exchange)
    base = "http://127.0.0.1/v1" if stream.api.startswith("openai") else "http://127.0.0.1"
    answers: list[Answer] = []
    allowed = ["stop", "length", "tool_calls"]
    result = run_probe(
        target(base, api=stream.api), "short", scenario(finish_reasons=allowed, **more), "m", watch=answers.append
    )
    return result, answers


def near(seconds: float | None) -> object:
    return None if seconds is None else pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize("name", STREAMS)
def test_the_figures_of_a_stream(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = STREAMS[name]
    facts = stream.facts
    result, answers = played(stream, monkeypatch)
    assert (result.outcome, result.status_code) == (facts.outcome, facts.status)
    assert (result.output_tokens, result.token_source, result.finish_reason) == (
        facts.output,
        facts.source,
        facts.finish,
    )
    assert result.ttfr_seconds == near(facts.ttfr_of(stream.dialect))
    assert result.ttft_seconds == near(facts.ttft)
    assert result.e2e_seconds == near(facts.e2e)
    assert result.tpot_seconds == near(facts.tpot)
    assert result.buffered == facts.buffered
    assert "".join(map(text_of, answers)) == facts.text
    assert (result.detail == "") == (facts.outcome == "success") and "secret" not in result.detail
    if facts.outcome == "success" and facts.source == "usage":
        assert result.prompt_tokens == 11
    if facts.tail is not None:
        assert result.phases["tail"] == near(facts.tail)


def test_all_35_are_there() -> None:
    assert len(THE_35) == len(set(THE_35)) == 35
    assert not {*THE_35} - NAMES


def test_there_are_twice_as_many_of_our_own() -> None:
    """Counted by name, so that one stream over seven APIs is one."""
    assert len(NAMES - {*THE_35}) >= 70


def test_every_api_has_them() -> None:
    counts = Counter(stream.api for stream in STREAMS.values())
    assert set(counts) == set(PROTOCOLS)
    assert min(counts.values()) >= 35


def test_every_api_fails_in_its_own_ways() -> None:
    for api in PROTOCOLS:
        outcomes = {stream.facts.outcome for stream in STREAMS.values() if stream.api == api}
        assert outcomes >= {"success", "truncated", "connection_lost", "stream_error", "no_tokens", "rate_limited"}

"""Every odd stream of every API, each piece stamped with the second of its script, so that the figures are exact."""

from collections import Counter

import pytest
from hostile_player import check_times, check_verdict, played
from hostile_script import STREAMS

from exporters.probe.protocols import PROTOCOLS

# By the names that the research gave them: what ten tools were run against.
THE_35 = (
    "base", "no_usage", "comments", "ping_mid", "reasoning_content", "reasoning", "reasoning_only", "tool_only", "crlf",
    "crlf_coalesced", "nospace", "split", "split_at_blank", "utf8_split", "u2028", "err_first", "err_mid", "err_event",
    "truncated_abrupt", "truncated_clean", "no_done", "azure_first", "coalesced", "all_at_once", "multi_token",
    "cont_usage", "usage_in_finish", "empty", "event_ping", "delta_null", "slow_done", "empty_delta_first", "json200",
    "http429", "gzip",
)  # fmt: skip
NAMES = {stream.name for stream in STREAMS.values()}


@pytest.mark.parametrize("name", STREAMS)
def test_the_figures_of_a_stream(name: str) -> None:
    stream = STREAMS[name]
    result, text = played(stream)
    check_verdict(stream, result, text)
    check_times(stream, result)


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

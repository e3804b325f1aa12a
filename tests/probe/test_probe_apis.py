"""Probes over Ollama's and Anthropic's APIs, and without a stream: verdict, tokens and times worked out by hand."""

import pytest
from hostile import HostileServer
from hostile_peer import BEHAVIOURS
from probe_helpers import scenario, target

from exporters.probe import metrics
from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.targets.models import served_models

STREAMS = {
    # behaviour: (outcome, output tokens, prompt tokens, who counted, finish reason)
    "ollama_good": ("success", 5, 11, "usage", "stop"),
    "ollama_thinking": ("success", 5, None, "usage", "stop"),
    "ollama_cut_anywhere": ("success", 5, 11, "usage", "stop"),
    "ollama_no_last_line_end": ("success", 5, 11, "usage", "stop"),
    "ollama_before_reasons": ("success", 5, 11, "usage", "stop"),
    "ollama_open_after_done": ("success", 5, 11, "usage", "stop"),
    "ollama_truncated": ("truncated", 3, None, "chunks", None),
    "ollama_error_inside": ("stream_error", 3, None, "chunks", None),
    "ollama_no_model": ("not_found", None, None, None, None),
    "ollama_not_json": ("stream_error", 2, None, "chunks", None),
    "ollama_stall": ("gap_timeout", 2, None, "chunks", None),
    "anthropic_good": ("success", 5, 11, "usage", "stop"),
    "anthropic_thinking": ("success", 5, 11, "usage", "length"),
    "anthropic_overloaded": ("stream_error", 3, 11, "chunks", None),
    "anthropic_truncated": ("truncated", 3, 11, "chunks", None),
    # The server counted five tokens and sent none of them.
    "anthropic_no_tokens": ("no_tokens", 5, 11, "usage", "stop"),
    "anthropic_refusal": ("finish_reason", 5, 11, "usage", "content_filter"),
}
DOCUMENTS = {
    "document": ("success", 5, 11, "usage", "stop"),
    "document_without_usage": ("success", None, None, None, "stop"),
    "document_legacy": ("success", 5, 11, "usage", "length"),
    "document_ollama": ("success", 5, 11, "usage", "stop"),
    "document_anthropic": ("success", 5, 11, "usage", "stop"),
    "document_unfinished": ("truncated", 5, 11, "usage", None),
    "document_empty": ("no_tokens", 5, 11, "usage", "stop"),
    "document_cut": ("connection_lost", None, None, None, None),
    "document_broken": ("stream_error", None, None, None, None),
    "document_error": ("stream_error", None, None, None, None),
    "document_as_stream": ("not_stream", None, None, None, None),
    "html": ("not_stream", None, None, None, None),
    "truncated_unchunked": ("not_stream", None, None, None, None),
    "limited": ("rate_limited", None, None, None, None),
}
APIS = {"document_legacy": "openai-completions", "document_ollama": "ollama", "document_anthropic": "anthropic"}


def probe(server: HostileServer, name: str, api: str, **more: object) -> ProbeResult:
    url = server.base(name) if api in ("ollama", "anthropic") else server.url(name)
    return run_probe(target(url, api=api), "short", scenario("60s", **more), "m")


def facts(result: ProbeResult) -> tuple[object, ...]:
    counts = (result.output_tokens, result.prompt_tokens, result.token_source)
    return (result.outcome, *counts, result.finish_reason)


def test_every_behaviour_has_a_verdict() -> None:
    here = {name for name in BEHAVIOURS if name.startswith(("ollama", "anthropic", "document"))}
    assert here <= {*STREAMS, *DOCUMENTS}


@pytest.mark.parametrize("reason", ["content_filter", "refusal"])
def test_a_good_end_may_be_named_in_openais_word_or_in_the_apis_own(hostile: HostileServer, reason: str) -> None:
    assert probe(hostile, "anthropic_refusal", "anthropic", finish_reasons=["stop", reason]).outcome == "success"
    assert probe(hostile, "anthropic_refusal", "anthropic", finish_reasons=["end_turn"]).outcome == "finish_reason"


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_of_another_api(hostile: HostileServer, name: str) -> None:
    result = probe(hostile, name, name.partition("_")[0], gap_timeout="3s")
    assert facts(result) == STREAMS[name]
    assert (result.detail == "") == (result.outcome == "success")
    assert "prompt" not in result.detail and "memory" not in result.detail
    if result.outcome == "success":
        assert result.ttft_seconds and result.tpot_seconds and result.e2e_seconds and result.ttfr_seconds
        assert 0 < result.ttfr_seconds <= result.ttft_seconds <= result.e2e_seconds < 60
        assert set(result.phases) == set(metrics.PHASES) - {"dns", "tls"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_answer_that_is_not_streamed(hostile: HostileServer, name: str) -> None:
    result = probe(hostile, name, APIS.get(name, "openai-chat"), stream=False)
    assert facts(result) == DOCUMENTS[name]
    assert (result.ttft_seconds, result.tpot_seconds, result.ttfr_seconds, result.buffered) == (None, None, None, False)
    if result.outcome == "success":
        assert result.e2e_seconds is not None and 0.1 <= result.e2e_seconds < 60
        assert set(result.phases) == {"tcp", "send", "headers", "tail"}


@pytest.mark.parametrize("name", ["silent", "drip_headers"])
def test_silence_of_a_server_that_was_not_asked_to_stream_is_no_missing_first_token(
    hostile: HostileServer, name: str
) -> None:
    limits = scenario("1s", stream=False, ttft_timeout="100ms", gap_timeout="100ms")
    result = run_probe(target(hostile.url(name)), "short", limits, "m")
    assert (result.outcome, "1 s" in result.detail) == ("deadline", True)


def test_what_ollama_measured_itself(hostile: HostileServer) -> None:
    expected = {"load": 0.5, "prefill": 0.15, "decode": 0.25}
    assert probe(hostile, "ollama_good", "ollama").server_seconds == pytest.approx(expected)
    assert probe(hostile, "document_ollama", "ollama", stream=False).server_seconds == pytest.approx(expected)
    assert probe(hostile, "ollama_thinking", "ollama").server_seconds == pytest.approx({"load": 0.5, "decode": 0.25})
    assert probe(hostile, "good", "openai-chat").server_seconds == {}


def test_what_is_asked_of_each_api(hostile: HostileServer) -> None:
    probe(hostile, "anthropic_good", "anthropic")
    probe(hostile, "ollama_good", "ollama")
    probe(hostile, "document", "openai-chat", stream=False)
    asked = {peer.path: peer for peer in hostile.requests}
    anthropic = asked["/anthropic_good/v1/messages"]
    assert anthropic.headers["anthropic-version"] == "2023-06-01"
    assert anthropic.body["stream"] is True and anthropic.body["max_tokens"] == 64
    assert asked["/ollama_good/api/chat"].body["options"] == {"num_predict": 64, "temperature": 0}
    document = asked["/document/v1/chat/completions"]
    assert document.headers["accept"] == "application/json"
    assert document.body["stream"] is False and "stream_options" not in document.body


@pytest.mark.parametrize(("api", "name"), [("ollama", "ollama_good"), ("anthropic", "anthropic_good")])
def test_models_of_another_api(hostile: HostileServer, api: str, name: str) -> None:
    hostile.models[name] = ["first", "second"]
    assert served_models(target(hostile.base(name), api=api), 30) == ["first", "second"]

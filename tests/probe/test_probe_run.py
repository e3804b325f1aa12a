"""Probes against a hostile server: each behaviour has its verdict, tokens and times worked out by hand."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hostile import HostileServer
from hostile_peer import BEHAVIOURS
from probe_helpers import scenario, target

from exporters.probe import metrics
from exporters.probe.asking.run import ProbeResult, run_probe

SUCCESSES = {
    # behaviour: (output tokens, who counted them, finish reason)
    "good": (5, "usage", "stop"),
    "unchunked": (5, "usage", "stop"),
    "legacy": (5, "usage", "length"),
    "reasoning_only": (5, "usage", "length"),
    "reasoning_then_content": (5, "usage", "stop"),
    "tool_call": (3, "chunks", "tool_calls"),
    "no_usage": (5, "chunks", "stop"),
    "zero_usage": (5, "chunks", "stop"),
    "usage_in_finish": (5, "usage", "stop"),
    "several_tokens_per_event": (20, "usage", "stop"),
    "continuous_usage": (20, "usage", "stop"),
    "comments": (5, "usage", "stop"),
    "event_ping": (5, "usage", "stop"),
    "crlf": (5, "usage", "stop"),
    "no_space": (5, "usage", "stop"),
    "line_separator": (5, "usage", "stop"),
    "cut_anywhere": (5, "usage", "stop"),
    "delta_null": (5, "usage", "stop"),
    "azure_first": (5, "usage", "stop"),
    "no_done": (5, "usage", "stop"),
    "open_after_done": (5, "usage", "stop"),
    "reset_after_done": (5, "usage", "stop"),
    "unlabelled": (5, "usage", "stop"),
    "gzipped": (5, "usage", "stop"),
    "slow": (5, "usage", "stop"),
    "buffered": (12, "usage", "stop"),
    "one_event": (12, "usage", "stop"),
}
FAILURES = {
    # behaviour: (outcome, status, output tokens that were seen)
    "truncated": ("truncated", 200, 3),
    "truncated_unchunked": ("truncated", 200, 3),
    "half_chunk": ("connection_lost", 200, 3),
    "reset": ("connection_lost", 200, 3),
    "reset_before_answer": ("connection_lost", None, None),
    "close_before_answer": ("connection_lost", None, None),
    "error_first": ("stream_error", 200, None),
    "error_inside": ("stream_error", 200, 3),
    "error_event": ("stream_error", 200, 2),
    "not_json": ("stream_error", 200, 2),
    "role_only": ("no_tokens", 200, None),
    "empty": ("no_tokens", 200, None),
    "content_filter": ("finish_reason", 200, 2),
    "endless_line": ("stream_error", 200, None),
    "no_http": ("not_stream", None, None),
    "bad_gzip": ("stream_error", 200, None),
    "endless_error": ("http_5xx", 503, None),
    "html": ("not_stream", 200, None),
    "html_unlabelled": ("not_stream", 200, None),
    "json_answer": ("not_stream", 200, None),
    "json_error": ("stream_error", 200, None),
    "redirect": ("not_stream", 307, None),
    "unauthorized": ("auth", 401, None),
    "forbidden": ("auth", 403, None),
    "model_not_found": ("not_found", 404, None),
    "bad_request": ("http_4xx", 400, None),
    "limited": ("rate_limited", 429, None),
    "broken": ("http_5xx", 500, None),
    "gateway": ("http_5xx", 502, None),
}
# Never end by themselves; the deadline has to interrupt them: behaviour -> outcome.
ENDLESS = {
    "silent": "ttft_timeout",
    "headers_only": "ttft_timeout",
    "pings_only": "ttft_timeout",
    "drip_headers": "ttft_timeout",
    "stall": "deadline",
    "stall_unchunked": "deadline",
    "drip": "deadline",
    "stall_after_finish": "deadline",
    "pings_after_tokens": "deadline",
}
# With `ttft_timeout` and `gap_timeout` far below the deadline: behaviour -> outcome.
SILENT = {
    "silent": "ttft_timeout",
    "headers_only": "ttft_timeout",
    "pings_only": "ttft_timeout",
    "drip_headers": "ttft_timeout",
    "stall": "gap_timeout",
    "stall_unchunked": "gap_timeout",
    "pings_after_tokens": "gap_timeout",
}
TIME_LIMIT = 3.0


def probe(server: HostileServer, name: str, timeout: str = "60s") -> ProbeResult:
    api = "openai-completions" if name == "legacy" else "openai-chat"
    allowed = ["stop", "length", "tool_calls"]
    return run_probe(
        target(server.url(name), api=api), "short", scenario(timeout, finish_reasons=allowed), "hostile-model"
    )


def test_every_behaviour_has_a_verdict() -> None:
    elsewhere = {name for name in BEHAVIOURS if name.startswith(("ollama", "anthropic", "document", "picky"))}
    assert set(BEHAVIOURS) - elsewhere == {*SUCCESSES, *FAILURES, *ENDLESS, "endless"}


@pytest.mark.parametrize("name", SUCCESSES)
def test_success(hostile: HostileServer, name: str) -> None:
    result = probe(hostile, name)
    assert (result.outcome, result.detail, result.status_code) == ("success", "", 200)
    assert (result.output_tokens, result.token_source, result.finish_reason) == SUCCESSES[name]
    assert result.prompt_tokens == (11 if result.token_source == "usage" else None)
    assert result.ttft_seconds is not None and result.ttfr_seconds is not None and result.e2e_seconds is not None
    assert 0 < result.ttfr_seconds <= result.ttft_seconds <= result.e2e_seconds < 60
    # An address is not resolved, and plain HTTP has no TLS: phases that were not reached are absent.
    assert set(result.phases) == set(metrics.PHASES) - {"dns", "tls"}
    assert all(seconds >= 0 for seconds in result.phases.values())


@pytest.mark.parametrize("name", FAILURES)
def test_failure(hostile: HostileServer, name: str) -> None:
    result = probe(hostile, name)
    assert (result.outcome, result.status_code, result.output_tokens) == FAILURES[name]
    assert result.detail
    for hidden in ("the prompt", "secret prompt", "sk-hidden", "key=hidden", "out of memory", "log in"):
        assert hidden not in result.detail


def test_the_server_own_word_for_an_error_is_shown(hostile: HostileServer) -> None:
    assert "(model_not_found)" in probe(hostile, "model_not_found").detail
    assert "http://elsewhere.example/v1," in probe(hostile, "redirect").detail


def test_what_never_ends_is_interrupted_at_the_deadline(hostile: HostileServer) -> None:
    def timed(name: str) -> tuple[ProbeResult, float]:
        began = time.monotonic()
        return probe(hostile, name, f"{TIME_LIMIT:g}s"), time.monotonic() - began

    with ThreadPoolExecutor(len(ENDLESS)) as pool:
        results = dict(zip(ENDLESS, pool.map(timed, ENDLESS), strict=True))
    assert {name: result.outcome for name, (result, _) in results.items()} == ENDLESS
    for result, seconds in results.values():
        assert TIME_LIMIT <= seconds < TIME_LIMIT + 20
        assert "(3 s)" in result.detail or "within 3 s" in result.detail


def test_silence_is_interrupted_long_before_the_deadline(hostile: HostileServer) -> None:
    def timed(name: str) -> tuple[ProbeResult, float]:
        began = time.monotonic()
        limits = scenario("60s", ttft_timeout="1s", gap_timeout="800ms")
        return run_probe(target(hostile.url(name)), "short", limits, "m"), time.monotonic() - began

    with ThreadPoolExecutor(len(SILENT)) as pool:
        results = dict(zip(SILENT, pool.map(timed, SILENT), strict=True))
    assert {name: result.outcome for name, (result, _) in results.items()} == SILENT
    for result, seconds in results.values():
        limit = 1.0 if result.outcome == "ttft_timeout" else 0.8
        assert limit <= seconds < 40
        assert f"{limit:g} s" in result.detail


def test_limits_on_silence_do_not_touch_a_longer_answer(hostile: HostileServer) -> None:
    """The answer takes 1.3 s with a token each 0.2 s: longer than either limit, and never silent for that long."""
    limits = scenario("60s", ttft_timeout="1200ms", gap_timeout="1200ms")
    result = run_probe(target(hostile.url("slow")), "short", limits, "m")
    assert result.outcome == "success" and result.e2e_seconds is not None and result.e2e_seconds > 1.2


def test_tokens_without_end_are_cut_at_the_byte_limit(hostile: HostileServer) -> None:
    result = probe(hostile, "endless")
    assert result.outcome == "stream_error"
    assert "1310720 bytes" in result.detail


def test_times_are_those_of_the_server(hostile: HostileServer) -> None:
    """The server sends the role after 0.1 s, tokens from 0.5 s to 1.3 s, and the end 0.2 s later."""
    result = probe(hostile, "slow")
    assert result.ttfr_seconds is not None and 0.1 <= result.ttfr_seconds < result.ttft_seconds
    assert result.ttft_seconds is not None and 0.5 <= result.ttft_seconds < 10
    assert result.e2e_seconds is not None and 1.3 <= result.e2e_seconds < 20
    assert result.tpot_seconds == pytest.approx((result.e2e_seconds - result.ttft_seconds) / 4)
    assert result.phases["headers"] + result.phases["first_event"] <= result.ttfr_seconds


def test_reasoning_is_what_the_user_waits_for(hostile: HostileServer) -> None:
    assert probe(hostile, "reasoning_only").ttft_seconds < probe(hostile, "reasoning_only").e2e_seconds


@pytest.mark.parametrize("name", ["buffered", "one_event"])
def test_a_buffered_stream_is_flagged_and_has_no_tpot(hostile: HostileServer, name: str) -> None:
    result = probe(hostile, name)
    assert (result.buffered, result.tpot_seconds) == (True, None)


def test_a_steady_stream_is_not_flagged(hostile: HostileServer) -> None:
    assert not probe(hostile, "good").buffered


def test_what_is_asked(hostile: HostileServer) -> None:
    probe(hostile, "good")
    request = next(peer for peer in reversed(hostile.requests) if peer.path.startswith("/good/"))
    assert (request.method, request.path) == ("POST", "/good/v1/chat/completions")
    assert request.body["model"] == "hostile-model" and request.body["stream"] is True
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["user-agent"].startswith("inferwatch-probe/")
    assert "authorization" not in request.headers

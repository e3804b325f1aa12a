"""Answers that nobody would think of: whatever comes, the outcome is the server's and never a fault of inferwatch."""

import json
from dataclasses import replace
from unittest import mock

from hostile import HostileServer
from hostile_dialects import DIALECTS
from hostile_peer import BEHAVIOURS
from hostile_player import answer_in, played, probed
from hostile_script import STREAMS, Steps
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporters.probe import metrics
from exporters.probe.asking.run import ProbeResult

OUTCOMES = set(metrics.OUTCOMES) - {"internal", "tainted"}
# Every name that a protocol looks for, and every value that it compares with.
KEYS = [
    "choices", "delta", "message", "content", "reasoning", "reasoning_content", "reasoning_details", "thinking", "text",
    "summary", "refusal", "tool_calls", "function", "custom", "function_call", "name", "arguments", "input", "index",
    "id", "usage", "prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "timings", "prompt_ms",
    "predicted_ms", "finish_reason", "error", "code", "type", "object", "model", "system_fingerprint", "done",
    "done_reason", "eval_count", "prompt_eval_count", "eval_duration", "load_duration", "content_block", "stop_reason",
    "partial_json", "response", "status", "output", "item", "incomplete_details", "reason", "output_index", "token",
    "special", "generated_text", "details", "generated_tokens", "input_length", "prefill", "stop", "stop_type",
    "stopped_limit", "tokens_predicted", "tokens_evaluated",
]  # fmt: skip
WORDS = [
    "", "stop", "length", "error", "content_block_delta", "content_block_start", "message_start", "message_delta",
    "message_stop", "text_delta", "thinking_delta", "input_json_delta", "tool_use", "response.output_text.delta",
    "response.output_item.added", "response.completed", "response.incomplete", "response.failed", "function_call",
    "output_text", "completed", "failed", "incomplete", "eos", "limit", "\ud83d", "\x00", "a" * 200,
]  # fmt: skip
scalars = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, -1, 2**31, 10**400, -(10**400), 0.5, float("inf"), float("nan"), -0.0, 1e308])
    | st.sampled_from(WORDS)
)
keys = st.sampled_from(KEYS)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(keys, inner), max_size=4).map(dict),
    max_leaves=12,
)
events = st.lists(st.lists(st.tuples(keys, values), max_size=4).map(dict), max_size=4)
apis = st.sampled_from(list(DIALECTS))


def check(result: ProbeResult) -> None:
    assert result.outcome in OUTCOMES, result.detail
    assert (result.detail == "") == (result.outcome == "success")
    assert result.detail.isprintable() and len(result.detail) < 400
    for seconds in (result.ttft_seconds, result.tpot_seconds, result.e2e_seconds, *result.phases.values()):
        assert seconds is None or 0 <= seconds < 1e6
    for tokens in (result.output_tokens, result.prompt_tokens):
        assert tokens is None or 0 < tokens < 2**31


@given(api=apis, events=events, in_one_read=st.booleans(), words=st.integers(0, 3))
@settings(max_examples=150)
def test_any_json(api: str, events: list[dict[str, object]], in_one_read: bool, words: int) -> None:
    """A few good tokens, then events of every name that a protocol knows with values of every kind."""
    stream = STREAMS[f"base@{api}"]
    say = stream.dialect
    good = [say.text(f" w{number}") for number in range(words)]
    text = [json.dumps(event) for event in events]
    wild = [f"{one}\n".encode() if api == "ollama" else f"data: {one}\n\n".encode() for one in text]
    pieces = [b"".join([*good, *wild])] if in_one_read else [*good, *wild]

    def script(_: object) -> Steps:
        for number, piece in enumerate(pieces):
            yield 0.1 * number, piece

    check(played(replace(stream, script=script))[0])


@given(api=apis, body=st.binary(max_size=400), kind=st.sampled_from(["text/event-stream", "application/x-ndjson", ""]))
@settings(max_examples=200)
def test_any_bytes(api: str, body: bytes, kind: str) -> None:
    stream = replace(STREAMS[f"base@{api}"], script=lambda _: iter([(0.1, body)]), content_type=kind)
    check(played(stream)[0])


lines = st.sampled_from([
    b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 500 Oops\r\n", b"HTTP/1.0 200\r\n", b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 -5 x\r\n", b"HTTP/1.1 99999999999 x\r\n", b"Content-Type: text/event-stream\r\n",
    b"Content-Type: application/json\r\n", b"Content-Type: \xff\xfe\r\n", b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n", b"Transfer-Encoding: x\r\n", b"Content-Length: 5\r\n",
    b"Content-Length: -5\r\n", b"Content-Length: 5, 6\r\n", b"Content-Length: x\r\n", b"Content-Encoding: gzip\r\n",
    b"Content-Encoding: deflate\r\n", b"Content-Encoding: br, gzip, deflate, zstd\r\n", b"Retry-After: inf\r\n",
    b"Retry-After: 1e400\r\n", b"Location: http://[::1\r\n", b"Location: \x00\r\n", b"Set-Cookie: a=b\r\n",
    b"Connection: keep-alive\r\n", b"Connection: upgrade\r\n", b": no name\r\n", b"no colon\r\n", b" folded\r\n",
    b"\r\n", b"\n", b"5\r\nhello\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"-1\r\n", b"1_0\r\nx", b"\x1f\x8b\x08",
    b"data: {}\n\n", b'data: {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}\n\n',
    b"HTTP/1.1 429 Slow\r\n", b"HTTP/1.1 307 Moved\r\n", b"\x00" * 50, b"HTTP/1.1 101 Switching Protocols\r\n",
])  # fmt: skip


@given(pieces=st.lists(lines | st.binary(max_size=30), max_size=9), api=apis, broken=st.booleans())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_http(hostile: HostileServer, pieces: list[bytes], api: str, broken: bool) -> None:
    stream = STREAMS[f"base@{api}"]
    with mock.patch.dict(BEHAVIOURS, {"scripted": answer_in(pieces, broken)}):
        check(probed(stream, hostile.base("scripted"))[0])

"""The APIs of Responses, TGI and llama.cpp: what is asked, what a real server answered, and answers in one piece."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hostile import HostileServer
from hostile_dialects import DIALECTS
from hostile_peer import BEHAVIOURS, Peer
from hostile_player import probed
from hostile_script import STREAMS
from hypothesis import given
from hypothesis import strategies as st
from probe_helpers import scenario, target

from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.protocols import PROTOCOLS, Question, StreamEvent, Usage
from exporters.probe.protocols.calls import calls_of
from exporters.probe.targets.models import served_models

CONVERSATION = Question(
    ({"role": "system", "content": "be brief"}, {"role": "user", "content": "count"}), max_tokens=64
)


def test_what_responses_are_asked() -> None:
    assert PROTOCOLS["openai-responses"].body("m", CONVERSATION) == {
        "model": "m",
        "input": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "count"}],
        "max_output_tokens": 64,
        "temperature": 0,
        "store": False,
        "stream": True,
    }


def test_what_tgi_is_asked() -> None:
    protocol = PROTOCOLS["tgi"]
    assert (protocol.path, protocol.document_path) == ("/generate_stream", "/generate")
    assert protocol.body("m", CONVERSATION) == {
        "inputs": "be brief\n\ncount",
        "parameters": {"max_new_tokens": 64, "do_sample": False, "details": True},
    }


def test_what_llamacpp_is_asked() -> None:
    assert PROTOCOLS["llamacpp"].body("m", CONVERSATION) == {
        "model": "m",
        "prompt": "be brief\n\ncount",
        "n_predict": 64,
        "temperature": 0,
        "stream": True,
    }


# Captured from llama.cpp's server (xllamacpp 2026.10.11549), which was asked for three tokens.
CAPTURES = Path(__file__).with_name("captures")
# file: (API, text, tokens of the prompt, finish reason, whether it told its own times)
CAPTURED = {
    "llamacpp-chat.sse": ("openai-chat", "Hello! I", 32, "length", True),
    "llamacpp-completion.sse": ("llamacpp", " years ago,", 3, "length", True),
    "llamacpp-completion.json": ("llamacpp", " years ago,", 3, "length", True),
    "llamacpp-messages.sse": ("anthropic", "Hello! I", 32, "length", False),
    # It calls an answer complete that the limit has ended.
    "llamacpp-responses.sse": ("openai-responses", "Hello! I", 32, "stop", True),
}


def read(name: str, api: str, cuts: list[int]) -> list[StreamEvent]:
    data = (CAPTURES / name).read_bytes()
    decoder = PROTOCOLS[api].decoder(name.endswith(".sse"))
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [event for start, end in pairwise(edges) for event in decoder.feed(data[start:end])] + decoder.flush()


@given(name=st.sampled_from([*CAPTURED]), cuts=st.lists(st.integers(0, 3000), max_size=9))
def test_what_llamacpp_really_answered(name: str, cuts: list[int]) -> None:
    api, text, prompt, finish, times = CAPTURED[name]
    events = read(name, api, cuts)
    assert "".join(event.text for event in events) == text
    tokens = [event for event in events if event.channel]
    assert {event.channel for event in tokens} == {"content"} and len(tokens) == (3 if name.endswith("sse") else 1)
    counts = [event.usage for event in events if event.usage]
    assert (counts[-1].output_tokens, max(usage.prompt_tokens or 0 for usage in counts)) == (3, prompt)
    assert [event.finish_reason for event in events if event.finish_reason] == [finish]
    assert {event.model for event in events if event.model} == {"smollm2-135m-instruct"}
    assert any(event.server_seconds for event in events) == times
    assert not any(event.error is not None for event in events)


# The same server with a template that knows tools, after three examples; 29 tokens were generated, most of them in
# front of the arguments. file: (API, events with tokens)
CALLED = {
    "llamacpp-chat-call.sse": ("openai-chat", 8),
    "llamacpp-chat-call.json": ("openai-chat", 1),
    "llamacpp-messages-call.sse": ("anthropic", 9),
    "llamacpp-responses-call.sse": ("openai-responses", 9),
}


@given(name=st.sampled_from([*CALLED]), cuts=st.lists(st.integers(0, 3500), max_size=9))
def test_a_tool_that_a_model_really_called(name: str, cuts: list[int]) -> None:
    api, with_tokens = CALLED[name]
    events = read(name, api, cuts)
    (call,) = calls_of(piece for event in events for piece in event.calls)
    assert call.name == "weather" and json.loads(call.arguments) == {"city": "Paris"}
    assert [event.channel for event in events if event.channel] == ["tool"] * with_tokens
    assert [event.finish_reason for event in events if event.finish_reason] == ["tool_calls"]
    counts = [event.usage for event in events if event.usage]
    assert (counts[-1].output_tokens, max(usage.prompt_tokens or 0 for usage in counts)) == (29, 328)
    assert not any(event.error is not None for event in events)


# Answers that are not streamed: the outcome, the channel, the text, the finish reason, and the counts.
MESSAGE = {
    "type": "message",
    "content": [{"type": "output_text", "text": "one"}, {"type": "output_text", "text": " two"}],
}
THOUGHT = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "content": None}
CALL = {"type": "function_call", "name": "clock", "arguments": "{}"}
COUNTS = {"input_tokens": 11, "output_tokens": 5}
TGI_DETAILS = {"finish_reason": "length", "generated_tokens": 5, "prefill": [{"id": 1}] * 11, "tokens": []}
LLAMACPP = {"content": "one two", "stop": True, "stop_type": "eos", "tokens_predicted": 5, "tokens_evaluated": 11}
Found = tuple[str, str | None, int | None, int | None]
DOCUMENTS: dict[str, tuple[str, object, Found]] = {
    "responses": ("openai-responses", {"status": "completed", "output": [THOUGHT, MESSAGE], "usage": COUNTS},
                  ("success", "stop", 5, 11)),
    "responses, thought alone": ("openai-responses", {"status": "completed", "output": [THOUGHT], "usage": COUNTS},
                                 ("success", "stop", 5, 11)),
    "responses, a call": ("openai-responses", {"status": "completed", "output": [CALL], "usage": COUNTS},
                          ("success", "tool_calls", 5, 11)),
    "responses, no output": ("openai-responses", {"status": "completed", "output": [], "usage": COUNTS},
                             ("no_tokens", "stop", 5, 11)),
    "responses, nonsense": ("openai-responses", {"status": "completed", "output": [7, {"content": [7]}, {"type": []}]},
                            ("no_tokens", "stop", None, None)),
    "responses, cut by the limit": (
        "openai-responses",
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [MESSAGE]},
        ("success", "length", None, None),
    ),
    "responses, in progress": ("openai-responses", {"status": "in_progress", "output": [MESSAGE]},
                               ("truncated", None, None, None)),
    "responses, failed": ("openai-responses", {"status": "failed", "error": {"code": "server_error"}, "output": []},
                          ("stream_error", None, None, None)),
    "tgi": ("tgi", {"generated_text": "one two", "details": TGI_DETAILS}, ("success", "length", 5, 11)),
    "tgi, no details": ("tgi", {"generated_text": "one two"}, ("success", "stop", None, None)),
    "tgi, nothing": ("tgi", {"generated_text": ""}, ("no_tokens", "stop", None, None)),
    "tgi, an error": ("tgi", {"error": "secret prompt", "error_type": "validation"},
                      ("stream_error", None, None, None)),
    "llamacpp": ("llamacpp", LLAMACPP, ("success", "stop", 5, 11)),
    "llamacpp, never stopped": ("llamacpp", LLAMACPP | {"stop": False}, ("truncated", None, 5, 11)),
    "llamacpp, an error": ("llamacpp", {"error": {"code": 500, "message": "secret prompt"}},
                           ("stream_error", None, None, None)),
}  # fmt: skip


def probe_document(server: HostileServer, api: str, document: object, monkeypatch: pytest.MonkeyPatch) -> ProbeResult:
    monkeypatch.setitem(BEHAVIOURS, "scripted", lambda peer: answer(peer, document))
    base = server.base("scripted")
    url = f"{base}/v1" if api.startswith("openai") else base
    asked = scenario(stream=False, finish_reasons=["stop", "length", "tool_calls"])
    return run_probe(target(url, api=api), "short", asked, "m")


def answer(peer: Peer, document: object) -> None:
    peer.plain("200 OK", "application/json", json.dumps(document))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_answer_in_one_piece(name: str, hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    api, document, found = DOCUMENTS[name]
    result = probe_document(hostile, api, document, monkeypatch)
    assert (result.outcome, result.finish_reason, result.output_tokens, result.prompt_tokens) == found
    assert (result.ttft_seconds, result.tpot_seconds, result.ttfr_seconds) == (None, None, None)
    assert "secret" not in result.detail
    assert hostile.requests[-1].path == f"/scripted{PATHS[api]}"


PATHS = {"openai-responses": "/v1/responses", "tgi": "/generate", "llamacpp": "/completion"}


@pytest.mark.parametrize("api", ["openai-responses", "tgi", "llamacpp"])
def test_the_models_of(api: str, hostile: HostileServer) -> None:
    hostile.models["good"] = ["first", "second"]
    url = hostile.url("good") if api == "openai-responses" else hostile.base("good")
    assert served_models(target(url, api=api), 30) == ["first", "second"]


def test_times_that_a_server_tells(hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = STREAMS["base@llamacpp"]

    def play(peer: Peer) -> None:
        peer.chunked = False
        peer.head()
        for _, piece in stream.steps():
            peer.send(piece)

    monkeypatch.setitem(BEHAVIOURS, "scripted", play)
    result, _ = probed(stream, hostile.base("scripted"))
    assert result.server_seconds == pytest.approx({"prefill": 0.15, "decode": 0.25})


@pytest.mark.parametrize("api", ["tgi", "llamacpp"])
def test_an_url_with_a_version_is_refused(api: str) -> None:
    with pytest.raises(ValueError, match=r"write the URL without its version: http://10\.0\.0\.7:8080"):
        target("http://10.0.0.7:8080/v1", api=api)


def test_usage_is_read_from_each_dialect() -> None:
    for api, kind in DIALECTS.items():
        events = PROTOCOLS[api].decoder().feed(b"".join(kind().end("stop", 7)))
        assert [event.usage.output_tokens for event in events if event.usage][-1:] == [7], api
        assert Usage(11, 7) in [event.usage for event in events] or api == "anthropic"

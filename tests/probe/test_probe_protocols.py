"""What each event of OpenAI's protocols says, and what is asked."""

import json
from itertools import pairwise

import pytest
from hostile_apis import OLLAMA_LAST, anthropic, delta, ollama
from hostile_peer import END, FINISH, USAGE, contents, data, usage_chunk
from hypothesis import given
from hypothesis import strategies as st

from exporters.probe.failures import StreamFormatError
from exporters.probe.protocols import PROTOCOLS, Question, StreamEvent, Usage

QUESTION = Question(({"role": "user", "content": "count"},), max_tokens=64)


def read(api: str, *values: object) -> list[StreamEvent]:
    framed = "{}\n" if api == "ollama" else "data: {}\n\n"
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    return PROTOCOLS[api].decoder().feed("".join(map(framed.format, texts)).encode())


def chat(delta: object, finish: object = None, **more: object) -> StreamEvent:
    (event,) = read("openai-chat", {"choices": [{"delta": delta, "finish_reason": finish}], **more})
    return event


def test_the_chat_request() -> None:
    assert PROTOCOLS["openai-chat"].path == "/chat/completions"
    assert PROTOCOLS["openai-chat"].body("m", QUESTION) == {
        "model": "m",
        "messages": [{"role": "user", "content": "count"}],
        "max_tokens": 64,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_the_completions_request() -> None:
    assert PROTOCOLS["openai-completions"].path == "/completions"
    assert PROTOCOLS["openai-completions"].body("m", QUESTION) == {
        "model": "m",
        "prompt": "count",
        "max_tokens": 64,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize(
    ("delta", "channel", "text"),
    [
        ({"role": "assistant", "content": ""}, None, ""),
        ({"role": "assistant", "content": None}, None, ""),
        ({}, None, ""),
        (None, None, ""),
        ({"content": "a"}, "content", "a"),
        ({"role": "assistant", "content": " "}, "content", " "),
        ({"reasoning_content": "a"}, "reasoning", "a"),
        ({"content": None, "reasoning": "a"}, "reasoning", "a"),
        ({"refusal": "no"}, "refusal", "no"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, "content", "hm"),
        ({"tool_calls": [{"function": {"name": "f", "arguments": ""}}]}, "tool", "f"),
        ({"tool_calls": [{"function": {"arguments": "{"}}]}, "tool", "{"),
        ({"tool_calls": [{"id": "call_1", "function": {"name": "", "arguments": ""}}]}, None, ""),
        ({"tool_calls": None, "function_call": {"arguments": "{"}}, "tool", "{"),
    ],
)
def test_tokens_of_a_chat_event(delta: object, channel: str | None, text: str) -> None:
    event = chat(delta)
    assert (event.channel, event.text) == (channel, text)


@pytest.mark.parametrize(
    ("given_reason", "reason"),
    [(None, None), ("", None), ("stop", "stop"), ("content_filter", "content_filter"), ("a whole\nsentence", "other")],
)
def test_finish_reason(given_reason: object, reason: str | None) -> None:
    assert chat({}, given_reason).finish_reason == reason


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 5}, Usage(3, 5)),
        ({"prompt_tokens": 3}, Usage(3, None)),
        ({"prompt_tokens": 12, "completion_tokens": 2, "total_tokens": 331}, Usage(12, 319, 317)),
        ({"prompt_tokens": 21, "completion_tokens": 0, "total_tokens": 81}, Usage(21, 60, 60)),
        ({"completion_tokens": 5, "total_tokens": 81}, Usage(None, 5)),
        ({"prompt_tokens": 11, "completion_tokens": 0, "total_tokens": 11}, Usage(11, None)),
        ({"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 1 << 40}, Usage(3, 5)),
        (
            {
                "prompt_tokens": 11,
                "completion_tokens": 5,
                "total_tokens": 16,
                "prompt_tokens_details": {"cached_tokens": 9},
            },
            Usage(11, 5),
        ),
        (
            {"prompt_tokens": 368, "completion_tokens": 19, "total_tokens": 10923, "cache_read_input_tokens": 10536},
            Usage(10904, 19),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 20,
                "total_tokens": 1030,
                "prompt_tokens_details": {"cached_tokens": 1000},
            },
            Usage(1010, 20),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 20,
                "total_tokens": 1080,
                "prompt_tokens_details": {"cached_tokens": 1000},
                "cache_creation_input_tokens": 50,
            },
            Usage(1060, 20),
        ),
        (
            {
                "prompt_tokens": 90,
                "completion_tokens": 20,
                "total_tokens": 174,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens_details": {"reasoning_tokens": 64},
            },
            Usage(90, 84, 64),
        ),
        ({"prompt_tokens": 1, "total_tokens": 9, "prompt_tokens_details": [8]}, Usage(1, 8, 8)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(None, None)),
        ({"prompt_tokens": True, "completion_tokens": "5"}, Usage(None, None)),
        ({"prompt_tokens": -3, "completion_tokens": 5.5}, Usage(None, None)),
        (None, None),
        ("many", None),
    ],
)
def test_usage(usage: object, counts: Usage | None) -> None:
    assert read("openai-chat", {"choices": [], "usage": usage})[0].usage == counts


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (
            {"input_tokens": 12, "output_tokens": 319, "output_tokens_details": {"reasoning_tokens": 317}},
            (12, 319, 317),
        ),
        ({"input_tokens": 12, "output_tokens": 2, "total_tokens": 331}, (12, 319, 317)),
        ({"input_tokens": 12, "output_tokens": 2, "total_tokens": 14}, (12, 2, None)),
        (
            {
                "input_tokens": 10,
                "output_tokens": 20,
                "total_tokens": 1030,
                "input_tokens_details": {"cached_tokens": 1000},
            },
            (1010, 20, None),
        ),
    ],
)
def test_usage_of_a_response(usage: object, counts: tuple[int | None, ...]) -> None:
    response = {"status": "completed", "output": [], "usage": usage}
    (event,) = read("openai-responses", {"type": "response.completed", "response": response})
    assert event.usage == Usage(*counts)


def test_done_and_legacy_text() -> None:
    events = read("openai-completions", {"choices": [{"text": "a"}]}, {"choices": [{"text": ""}]}, "[DONE]")
    assert events == [StreamEvent("content", "a"), StreamEvent(), StreamEvent(done=True)]


@pytest.mark.parametrize(
    ("event", "identifier"),
    [
        ({"error": {"message": "quotes the prompt", "type": "server_error"}}, "server_error"),
        ({"error": {"code": 503, "type": "overloaded"}}, "503"),
        ({"error": {"code": "a sentence that quotes the key", "type": None}}, ""),
        ({"error": "quotes the prompt"}, ""),
        ({"object": "error", "message": "quotes", "code": 400}, "400"),
    ],
)
def test_an_error_is_known_by_its_identifier_alone(event: object, identifier: str) -> None:
    assert read("openai-chat", event)[0].error == identifier


def test_an_error_event_need_hold_no_json() -> None:
    assert PROTOCOLS["openai-chat"].decoder().feed(b"event: error\ndata: it broke\n\n") == [StreamEvent(error="")]


@pytest.mark.parametrize("data", ["{broken", "[1]", "7", '{"choices": [7]}', b"\xff\xfe".decode("latin-1")])
def test_other_bytes_are_an_error(data: str) -> None:
    with pytest.raises(StreamFormatError):
        read("openai-chat", data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    ["choices", "delta", "message", "content", "reasoning", "thinking", "tool_calls", "function", "usage", "timings",
     "finish_reason", "error", "text", "type", "content_block", "stop_reason", "done", "done_reason", "input_tokens",
     "prompt_tokens", "completion_tokens", "total_tokens", "completion_tokens_details", "reasoning_tokens", "index",
     "id", "name", "arguments", "eval_count", "eval_duration", "prompt_ms", "text_delta", "content_block_delta"]
)  # fmt: skip
wild_events = st.recursive(
    json_values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=20
)


@given(value=wild_events, api=st.sampled_from(sorted(PROTOCOLS)), stream=st.booleans())
def test_any_json_is_an_event_or_a_format_error(value: object, api: str, stream: bool) -> None:
    value = json.dumps(value)
    decoder = PROTOCOLS[api].decoder(stream)
    try:
        (event,) = read(api, value) if stream else (*decoder.feed(value.encode()), *decoder.flush())
    except StreamFormatError:
        return
    assert (event.channel is None) == (event.text == "")


WHOLE = b"".join(
    [
        b": ping\n\n",
        *contents(("é", "漢字", "🙂", "a\u2028b"), "reasoning"),
        *contents(("one", " two")),
        FINISH,
        data(usage_chunk(USAGE)),
        END,
    ]
)


@given(cuts=st.lists(st.integers(0, len(WHOLE)), max_size=20), line_end=st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_any_cut_of_a_stream_gives_the_same_events(cuts: list[int], line_end: bytes) -> None:
    expected = PROTOCOLS["openai-chat"].decoder().feed(WHOLE)
    assert "".join(event.text for event in expected) == "é漢字🙂a\u2028bone two" and expected[-1].done
    stream = WHOLE.replace(b"\n", line_end)
    decoder = PROTOCOLS["openai-chat"].decoder()
    edges = [0, *sorted(cuts), len(stream)]
    events = [event for start, end in pairwise(edges) for event in decoder.feed(stream[start:end])]
    assert events + decoder.flush() == expected


ELSEWHERE = {
    "ollama": b"".join([*map(ollama, ("\u00e9", "\u6f22\u5b57", "\U0001f642", "a\u2028b")), OLLAMA_LAST]),
    "anthropic": b"".join(anthropic(map(delta, ("\u00e9", "\u6f22\u5b57", "\U0001f642", "a\u2028b")))),
}


@given(cuts=st.lists(st.integers(0, max(map(len, ELSEWHERE.values()))), max_size=20), api=st.sampled_from([*ELSEWHERE]))
def test_any_cut_of_another_api_gives_the_same_events(cuts: list[int], api: str) -> None:
    whole = ELSEWHERE[api]
    expected = PROTOCOLS[api].decoder().feed(whole)
    assert "".join(event.text for event in expected) == "\u00e9\u6f22\u5b57\U0001f642a\u2028b" and expected[-1].done
    decoder = PROTOCOLS[api].decoder()
    edges = [0, *sorted(cuts), len(whole)]
    events = [event for start, end in pairwise(edges) for event in decoder.feed(whole[start:end])]
    assert events + decoder.flush() == expected


def test_a_line_that_never_ends_is_an_error() -> None:
    decoder = PROTOCOLS["ollama"].decoder()
    with pytest.raises(StreamFormatError, match="1048576 bytes"):
        for _ in range(3):
            decoder.feed(b"x" * (1 << 19))


def test_llamacpp_says_how_long_it_took() -> None:
    (event,) = read("openai-chat", {"choices": [], "timings": {"prompt_ms": 250, "predicted_ms": 1500.0, "cache_n": 3}})
    assert event.server_seconds == {"prefill": 0.25, "decode": 1.5}

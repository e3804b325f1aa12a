"""Tools and forms of JSON: what is asked in each API, and whether the right tool is called with right arguments."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hostile import HostileServer
from hostile_peer import BEHAVIOURS, Peer
from hypothesis import given
from hypothesis import strategies as st
from probe_helpers import target

from exporters.probe.asking.prompts import case_of, question_of
from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.checks import failed_check
from exporters.probe.protocols import PROTOCOLS
from exporters.probe.protocols.calls import Call, calls_of
from inferwatch.config import Scenario, parse_config
from inferwatch.config.checks import Checks
from inferwatch.config.schema import schema_of
from inferwatch.errors import ConfigError

PLACE = {"type": "object", "properties": {"city": {"type": "string", "minLength": 2}}, "required": ["city"]}
TOOL = {"name": "weather", "description": "Tells the weather.", "parameters": PLACE}
ARGUMENTS = '{"city": "Lima"}'
PIECES = ('{"ci', 'ty": "Li', 'ma"}')


def asking(**more: Any) -> Scenario:
    values = {
        "prompt": "What is the weather in Lima?",
        "tools": [TOOL],
        "max_tokens": 64,
        "timeout": "30s",
        "checks": {"tool_call": {"name": "weather"}},
    }
    return Scenario.model_validate(values | more)


def body(api: str, scenario: Scenario) -> dict[str, Any]:
    return PROTOCOLS[api].body("m", question_of(scenario, case_of(scenario)))


# What is asked


def test_how_each_api_declares_a_tool() -> None:
    function = {"type": "function", "function": TOOL}
    assert body("openai-chat", asking())["tools"] == [function]
    assert body("ollama", asking())["tools"] == [function]
    assert body("openai-responses", asking())["tools"] == [{"type": "function", **TOOL}]
    (anthropic,) = body("anthropic", asking())["tools"]
    assert anthropic == {"name": "weather", "description": "Tells the weather.", "input_schema": PLACE}


def test_how_each_api_is_asked_for_a_call() -> None:
    forced = asking(tool_choice="required")
    assert body("openai-chat", forced)["tool_choice"] == "required"
    assert body("openai-responses", forced)["tool_choice"] == "required"
    assert body("anthropic", forced)["tool_choice"] == {"type": "any"}
    assert not [api for api in ("openai-chat", "anthropic", "ollama") if "tool_choice" in body(api, asking())]


def test_a_tool_needs_only_a_name() -> None:
    (tool,) = body("openai-chat", asking(tools=[{"name": "weather"}]))["tools"]
    assert tool["function"] == {"name": "weather", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("api", PROTOCOLS)
def test_nothing_is_declared_that_is_not_wanted(api: str) -> None:
    plain = Scenario(prompt="Why?", max_tokens=9)
    assert not {"tools", "response_format", "format", "text"} & set(body(api, plain))


def test_how_each_api_is_asked_for_json() -> None:
    free = Scenario(prompt="Why?", max_tokens=9, response_format="json_object")
    strict = Scenario.model_validate(
        {"prompt": "Why?", "max_tokens": 9, "response_format": "json_schema", "checks": {"json_schema": PLACE}}
    )
    named = {"name": "answer", "strict": True, "schema": PLACE}
    assert body("openai-chat", free)["response_format"] == {"type": "json_object"}
    assert body("openai-chat", strict)["response_format"] == {"type": "json_schema", "json_schema": named}
    assert body("openai-responses", free)["text"] == {"format": {"type": "json_object"}}
    assert body("openai-responses", strict)["text"] == {"format": {"type": "json_schema", **named}}
    assert (body("ollama", free)["format"], body("ollama", strict)["format"]) == ("json", PLACE)


# What is answered


def sse(*events: object, end: bool = True) -> bytes:
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join([*lines, "data: [DONE]\n\n"] if end else lines).encode()


def openai(*pieces: dict[str, object]) -> bytes:
    deltas = [{"tool_calls": [piece]} for piece in pieces]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    return sse(
        *({"choices": [choice]} for choice in choices), {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    )


def function(arguments: str, name: str | None = None, **more: object) -> dict[str, object]:
    return {"function": {"arguments": arguments} | ({"name": name} if name else {}), **more}


def anthropic() -> bytes:
    deltas = [
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": piece}}
        for piece in PIECES
    ]
    return sse(
        {"type": "message_start", "message": {"usage": {"input_tokens": 9}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me look."}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "name": "weather", "input": {}},
        },
        *deltas,
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
        end=False,
    )


def responses() -> bytes:
    item = {"type": "function_call", "name": "weather", "arguments": ""}
    deltas = [{"type": "response.function_call_arguments.delta", "output_index": 1, "delta": one} for one in PIECES]
    whole = {"status": "completed", "output": [item | {"arguments": ARGUMENTS}], "usage": {"output_tokens": 9}}
    return sse(
        {"type": "response.output_item.added", "output_index": 1, "item": item},
        *deltas,
        {"type": "response.completed", "response": whole},
        end=False,
    )


def ollama_lines() -> bytes:
    call = {"function": {"name": "weather", "arguments": {"city": "Lima"}}}
    lines = [
        {"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False},
        {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", "eval_count": 9},
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


STREAMS: dict[str, tuple[str, bytes]] = {
    "openai": (
        "openai-chat",
        openai(function(PIECES[0], "weather", index=0, id="c1"), *(function(one, index=0) for one in PIECES[1:])),
    ),
    "openai-whole": ("openai-chat", openai(function(ARGUMENTS, "weather"))),
    "openai-only-first-has-an-id": (
        "openai-chat",
        openai(function(PIECES[0], "weather", id="c1"), *(function(one) for one in PIECES[1:])),
    ),
    "openai-name-in-every-piece": ("openai-chat", openai(*(function(one, "weather", index=0) for one in PIECES))),
    "anthropic": ("anthropic", anthropic()),
    "responses": ("openai-responses", responses()),
    "ollama": ("ollama", ollama_lines()),
}
DOCUMENTS: dict[str, dict[str, object]] = {
    "openai-chat": {
        "choices": [
            {
                "message": {"content": "Let me look.", "tool_calls": [function(ARGUMENTS, "weather", id="c1")]},
                "finish_reason": "tool_calls",
            }
        ]
    },
    "anthropic": {
        "content": [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "name": "weather", "input": {"city": "Lima"}},
        ],
        "stop_reason": "tool_use",
    },
    "openai-responses": {
        "status": "completed",
        "output": [{"type": "function_call", "name": "weather", "arguments": ARGUMENTS}],
    },
    "ollama": {
        "message": {"tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Lima"}}}]},
        "done": True,
        "done_reason": "stop",
    },
}


@pytest.fixture
def told(hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ProbeResult]]:
    """Return a function that probes a server which answers with these bytes."""

    def probe(api: str, content: bytes, scenario: Scenario | None = None) -> ProbeResult:
        wanted = scenario or asking()
        kind = PROTOCOLS[api].stream_types[0] if wanted.stream else "application/json"

        def answer(peer: Peer) -> None:
            peer.plain("200 OK", kind, content.decode())

        monkeypatch.setitem(BEHAVIOURS, "told", answer)
        url = hostile.url("told") if api.startswith("openai") else hostile.base("told")
        return run_probe(target(url, api=api), "tools", wanted, "m")

    yield probe


@pytest.mark.parametrize("name", STREAMS)
def test_a_streamed_call(told: Callable[..., ProbeResult], name: str) -> None:
    result = told(*STREAMS[name])
    assert (result.outcome, result.detail) == ("success", "")
    # A stricter check than the tool's own parameters.
    wrong = told(*STREAMS[name], asking(checks={"tool_call": {"name": "weather", "arguments": {"maxProperties": 0}}}))
    assert (wrong.outcome, wrong.detail) == (
        "check_failed", "tool_call: the arguments of weather break maxProperties"
    )  # fmt: skip


@pytest.mark.parametrize("api", DOCUMENTS)
def test_a_call_in_one_piece(told: Callable[..., ProbeResult], api: str) -> None:
    result = told(api, json.dumps(DOCUMENTS[api]).encode(), asking(stream=False))
    assert (result.outcome, result.detail) == ("success", "")


@pytest.mark.parametrize("name", STREAMS)
@given(cuts=st.lists(st.integers(0, 2000), max_size=12))
def test_calls_are_the_same_however_the_bytes_are_cut(name: str, cuts: list[int]) -> None:
    api, content = STREAMS[name]
    decoder = PROTOCOLS[api].decoder()
    edges = sorted({0, len(content), *(cut % len(content) for cut in cuts)})
    events = [event for start, end in itertools.pairwise(edges) for event in decoder.feed(content[start:end])]
    calls = calls_of(piece for event in [*events, *decoder.flush()] for piece in event.calls)
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("weather", {"city": "Lima"})]


def test_several_calls_are_told_apart() -> None:
    """Two calls that come in turns."""
    pieces = [
        function('{"city"', "weather", index=0, id="a"),
        function("{}", "clock", index=1, id="b"),
        function(': "Lima"}', index=0),
    ]
    decoder = PROTOCOLS["openai-chat"].decoder()
    events = decoder.feed(openai(*pieces))
    assert calls_of(piece for event in events for piece in event.calls) == [
        Call("weather", ARGUMENTS.replace(" ", " ")), Call("clock", "{}")
    ]  # fmt: skip


WEATHER, CLOCK = Call("weather", ARGUMENTS), Call("clock", "{}")


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        pytest.param(
            [function(ARGUMENTS, "weather", index=0, id="a"), function("{}", "clock", index=0, id="b")],
            [WEATHER, CLOCK],
            id="Ollama gives each the index 0",
        ),
        pytest.param(
            [function(ARGUMENTS, "weather", index=0, id="a"), function(ARGUMENTS, "weather", index=0, id="b")],
            [WEATHER, WEATHER],
            id="the same tool twice",
        ),
        pytest.param(
            [function(ARGUMENTS[:5], "weather", index=0, id="a"), function(ARGUMENTS[5:], index=0, id="b")],
            [WEATHER],
            id="an id made up for each piece",
        ),
        pytest.param(
            [function(ARGUMENTS[:5], "weather", index=0, id="a"), function(ARGUMENTS[5:], "weather", index=0, id="a")],
            [WEATHER],
            id="all repeated with each piece",
        ),
        pytest.param(
            [function(ARGUMENTS[:5], "weather", index=0, id="a"), function(ARGUMENTS[5:], "", index=0, id="")],
            [WEATHER],
            id="empty names and ids later",
        ),
        pytest.param(
            [function(ARGUMENTS[:5], "weather", id="a"), function(ARGUMENTS[5:]), function("{}", "clock", id="b")],
            [WEATHER, CLOCK],
            id="ids and no index",
        ),
    ],
)
def test_which_pieces_make_a_call(pieces: list[dict[str, object]], calls: list[Call]) -> None:
    events = PROTOCOLS["openai-chat"].decoder().feed(openai(*pieces))
    assert calls_of(piece for event in events for piece in event.calls) == calls
    # All of them in one event are the same.
    (event, *_) = PROTOCOLS["openai-chat"].decoder().feed(sse({"choices": [{"delta": {"tool_calls": pieces}}]}))
    assert calls_of(event.calls) == calls


@pytest.mark.parametrize(
    ("calls", "wrong"),
    [
        ([], "tool_call: the answer calls no tool"),
        ([Call("clock", "{}")], "tool_call: the answer does not call weather"),
        ([Call("weather", '{"city": ')], "tool_call: the arguments of weather are not JSON"),
        ([Call("weather", "[]")], "tool_call: the arguments of weather are no JSON object"),
        ([Call("weather", "")], "tool_call: the arguments of weather break required"),
        ([Call("weather", '{"city": "X"}')], "tool_call: the arguments of weather break properties/city/minLength"),
        ([Call("weather", "{"), Call("weather", ARGUMENTS)], None),
    ],
)
def test_which_calls_are_right(calls: list[Call], wrong: str | None) -> None:
    assert failed_check("", Checks.model_validate({"tool_call": {"name": "weather"}}), calls, schema_of(PLACE)) == wrong


def test_a_rule_on_the_text_beside_a_call() -> None:
    checks = Checks.model_validate({"tool_call": {"name": "weather"}, "text": "look"})
    calls = [Call("weather", ARGUMENTS)]
    assert failed_check("", checks, calls) == "the answer holds no text"
    assert failed_check("Let me look.", checks, calls) is None


def test_a_text_in_place_of_a_call(told: Callable[..., ProbeResult]) -> None:
    event = {"choices": [{"delta": {"content": "It is sunny."}, "finish_reason": "stop"}]}
    result = told("openai-chat", sse(event))
    assert (result.outcome, result.detail) == ("check_failed", "tool_call: the answer calls no tool")
    # Without the check, with tools or not, any answer will do.
    assert told("openai-chat", sse(event), asking(checks=None)).outcome == "success"


def test_a_call_ends_an_answer_only_where_there_are_tools(told: Callable[..., ProbeResult]) -> None:
    api, content = STREAMS["openai"]
    assert told(api, content, asking(tools=None, checks=None)).outcome == "finish_reason"
    assert told(api, content, asking(finish_reasons=["stop"])).outcome == "finish_reason"


# What the file may say


@pytest.mark.parametrize(
    ("scenario", "api", "sentence"),
    [
        ("tools: [{name: a}]", "openai-completions", "targets[0].scenarios[0]: openai-completions has no tools"),
        ("tools: [{name: a}]", "tgi", "tgi has no tools, which 'mine' needs; those that do: openai-chat"),
        ("response_format: json_object", "anthropic", "anthropic has no response format, which 'mine' needs"),
        ("tools: [{name: a b}]", "openai-chat", "tools[0].name: 'a b' is not a tool's name"),
        ("tools: [{name: a}, {name: a}]", "openai-chat", "tools[1].name: tools[0] is called 'a' already"),
        ("tools: []", "openai-chat", "tools: must not be empty"),
        ("tools: [{name: a, parameters: {type: x}}]", "openai-chat", "parameters: this is not a JSON Schema"),
        ("tools: [{name: a}], checks: {tool_call: {name: b}}", "openai-chat", "there is no tool 'b'; write one of a"),
        ("checks: {tool_call: {name: b}}", "openai-chat", "there is no tool 'b'; this needs tools:"),
        ("response_format: json_schema", "openai-chat", "json_schema needs checks: with json_schema or"),
        ("tool_choice: required", "openai-chat", "tool_choice: this needs tools: with what must be called"),
        ("tools: [{name: a}], tool_choice: required", "ollama", "ollama has no tool_choice, which 'mine' needs"),
        ("response_format: yaml", "openai-chat", "write json_object or json_schema, not 'yaml'"),
    ],
)
def test_what_cannot_work_is_explained(scenario: str, api: str, sentence: str) -> None:
    text = f"targets: [{{name: chat, url: 'http://h', api: {api}, scenarios: [mine]}}]\n"
    text += f"scenarios: {{mine: {{prompt: x, max_tokens: 9, {scenario}}}}}\n"
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "inferwatch.yml", {})
    assert sentence in str(caught.value)


def test_an_api_that_the_defaults_do_not_fit() -> None:
    text = "targets: [{name: chat, url: 'http://h', api: tgi}]\ndefaults: {scenarios: [mine]}\n"
    text += "scenarios: {mine: {prompt: x, max_tokens: 9, tools: [{name: a}]}}\n"
    with pytest.raises(ConfigError, match=r"targets\[0\]\.api: tgi has no tools"):
        parse_config(text, "inferwatch.yml", {})

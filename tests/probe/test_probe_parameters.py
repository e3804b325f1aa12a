"""Parameters that a server refuses: how that is recognised, counted and shown."""

import pytest
from hostile import HostileServer
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from exporters.probe.asking.parameters import fitted, refused_parameter
from exporters.probe.scheduling.prober import Prober
from exporters.probe.series.found import FoundCollector
from inferwatch.config import parse_config


def forbidden(*places: list[object]) -> list[dict[str, object]]:
    return [{"type": "extra_forbidden", "loc": place, "msg": "Extra inputs are not permitted"} for place in places]


NESTED = ["body", "stream_options", "include_usage"]
SENT = ("model", "messages", "max_tokens", "temperature", "stream", "stream_options")
KEY = ("chat", "short")


@pytest.mark.parametrize(
    ("status", "answer", "parameter"),
    [
        (400, {"error": {"param": "temperature", "message": "whatever"}}, "temperature"),
        (400, {"error": {"param": "max_tokens", "message": "use max_completion_tokens"}}, "max_tokens"),
        (400, {"error": {"param": "max_tokens", "message": "max_tokens must be at most 8"}}, None),
        (400, {"error": {"param": "messages", "message": "temperature is fine, messages are not"}}, None),
        (400, {"error": {"message": "property 'stream_options' is unsupported"}}, "stream_options"),
        (400, {"error": "unknown field stream_options"}, "stream_options"),
        (400, {"message": "temperature does not support 0"}, "temperature"),
        (422, {"detail": [{"loc": ["body", "stream_options"], "input": {"temperature": 0}}]}, "stream_options"),
        (422, {"detail": [{"loc": ["body", "messages"], "msg": "temperature"}]}, None),
        (422, {"detail": "stream_options not permitted"}, "stream_options"),
        (422, {"object": "error", "message": {"detail": forbidden(NESTED)}, "param": None}, "stream_options"),
        (422, {"error": {"message": {"detail": forbidden(NESTED)}, "param": None}}, "stream_options"),
        (422, {"detail": forbidden(["body", "temperature"], ["body", "stream_options"])}, "stream_options"),
        (422, {"detail": forbidden(["body", "max_tokens"], ["body", "temperature"])}, "temperature"),
        (422, {"detail": forbidden(["body", "messages", 0, "temperature"])}, None),
        (422, {"detail": forbidden(["stream_options"], ["body"], [])}, "stream_options"),
        (422, {"detail": [{"loc": [7]}, {"loc": "temperature"}, {}, 7]}, None),
        (400, {"error": {"param": "stream_options.include_usage", "message": "Unknown parameter"}}, "stream_options"),
        (400, {"error": {"param": "stream_options[include_usage]"}}, "stream_options"),
        (400, {"error": {"param": "", "message": "stream_options is not supported"}}, "stream_options"),
        (400, {"error": {"param": "400", "message": "stream_options is not supported"}}, "stream_options"),
        (400, {"error": {"param": "none", "message": "Unsupported value: 'temperature' must be 1"}}, "temperature"),
        (400, {"error": {"param": "messages[0].content", "message": "temperature is fine"}}, None),
        (400, {"error": {"param": "", "message": "max_tokens is gone: write max_completion_tokens"}}, "max_tokens"),
        (400, {"error": {"message": "got {temperature: 0, stream_options: {}}"}}, None),
        (400, {"error": {"message": "got temperature=0, 'stream_options': {}"}}, None),
        (
            400,
            {"error": {"message": "does not support parameters: ['temperature', 'stream_options'], for model=m"}},
            "stream_options",
        ),
        (400, {"error": {"message": "Unrecognized request arguments: temperature, max_tokens"}}, "temperature"),
        (400, {"error": {"message": "temperature is wrong in {temperature: 0, stream_options: {}}"}}, "temperature"),
        (400, {"error": {"message": "my_temperature is wrong"}}, None),
        (400, {"error": {"param": "extra_body", "message": "temperature must be > 0"}}, None),
        (400, {"error": {"param": "extra_body[0]", "message": "temperature must be > 0"}}, None),
        (400, {"error": {"param": "Null", "message": "temperature must be 1"}}, "temperature"),
        (500, {"error": {"param": "temperature"}}, None),
        (400, ["temperature"], None),
        (400, None, None),
    ],
)
def test_what_is_refused(status: int, answer: object, parameter: str | None) -> None:
    assert refused_parameter(status, answer, SENT) == parameter


@pytest.mark.parametrize(
    ("message", "parameter"),
    [
        (
            "unknown field `response_format`, expected one of `model`, `max_tokens`, `temperature`, `stream_options`",
            None,
        ),
        ("unknown field `temperature`, expected one of `model`, `max_tokens`, `stream_options`", "temperature"),
        ("unknown field `max_tokens`, expected one of `max_completion_tokens`, `temperature`", "max_tokens"),
        ("unknown field `max_tokens`, expected `model` or `temperature`", None),
        ("Unsupported: 'response_format'. Supported parameters: model, temperature, stream_options", None),
        ("Allowed fields are model, temperature, stream_options", None),
        ("unknown key top_k; valid keys: temperature, stream_options", None),
        ("got an unexpected keyword argument 'stream_options'", "stream_options"),
        ("Unsupported parameters: stream_options", "stream_options"),
        ("temperature is not a supported parameter", "temperature"),
        ("Not a supported parameter: temperature", "temperature"),
        ("These aren't allowed parameters: temperature", "temperature"),
        ("Field not expected: stream_options", "stream_options"),
        ("Unsupported value: 'temperature'. Supported values are: 1, for temperature", "temperature"),
    ],
)
def test_a_list_of_what_is_accepted_refuses_nothing_in_it(message: str, parameter: str | None) -> None:
    assert refused_parameter(400, {"error": {"message": message}}, SENT) == parameter


words = st.sampled_from(["detail", "message", "error", "param", "loc", "body", "temperature", "stream_options", ""])
wild = st.recursive(
    words | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
)


@given(answer=wild)
def test_no_answer_is_too_odd(answer: object) -> None:
    assert refused_parameter(400, answer, SENT) in (None, "temperature", "stream_options")


def test_what_was_not_sent_is_not_refused() -> None:
    assert refused_parameter(400, {"error": {"param": "temperature"}}, ("model", "prompt")) is None


def test_a_refused_parameter_is_left_out_or_replaced() -> None:
    body = {"model": "m", "max_tokens": 64, "temperature": 0}
    assert fitted(body, ()) == body
    assert fitted(body, {"temperature", "max_tokens", "stream_options"}) == {"model": "m", "max_completion_tokens": 64}


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("fastapi", {"stream_options", "temperature"}),
        ("mistral", {"stream_options", "temperature"}),
        ("nested", {"stream_options"}),
        ("empty_param", {"stream_options"}),
        ("one_api", {"stream_options"}),
    ],
)
def test_every_servers_words_of_a_refusal_end_in_an_answer(
    hostile: HostileServer, name: str, refused: set[str]
) -> None:
    prober = Prober()
    text = f"targets: [{{name: chat, url: '{hostile.url(f'picky_{name}')}', model: m}}]"
    prober.apply(parse_config(text, "inferwatch.yml", {}))
    prober.run(KEY)
    outcomes = prober.records()[KEY].snapshot()[1].outcomes
    assert (outcomes["http_4xx"], outcomes["success"]) == (len(refused), 1)
    assert prober.refusals.by_target() == {"chat": refused}


def test_each_refusal_is_a_failed_probe_and_found_out_once(hostile: HostileServer) -> None:
    text = f"targets: [{{name: chat, url: '{hostile.url('picky')}', model: m}}]"
    prober = Prober()
    prober.apply(parse_config(text, "inferwatch.yml", {}))
    prober.run(KEY)
    series = prober.records()[KEY].snapshot()[1]
    assert (series.started, series.outcomes["http_4xx"], series.outcomes["success"]) == (4, 3, 1)
    prober.run(KEY)
    series = prober.records()[KEY].snapshot()[1]
    assert (series.started, series.outcomes["http_4xx"], series.outcomes["success"]) == (5, 3, 2)
    sent = [peer for peer in hostile.requests if peer.path.startswith("/picky/")]
    assert len(sent) == 5
    assert sent[-1].body["max_completion_tokens"] == 64
    assert not {"max_tokens", "temperature", "stream_options"} & set(sent[-1].body)
    registry = CollectorRegistry()
    registry.register(FoundCollector(prober.refusals.by_target, dict, dict, lambda: None))
    page = generate_latest(registry).decode()
    instead = 'llm_probe_param_fallback_info{instead="max_completion_tokens",parameter="max_tokens",target="chat"} 1.0'
    assert instead in page and 'instead="none",parameter="temperature"' in page

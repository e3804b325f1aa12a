"""Words of servers that become labels: whatever they are, `/metrics` can be written, and stays short."""

import json
from pathlib import Path

import pytest
from hostile import HostileServer
from hypothesis import given
from hypothesis import strategies as st
from page_server import Server
from probe_helpers import target
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from exporters.probe.failures import ProbeError
from exporters.probe.protocols import PROTOCOLS
from exporters.probe.protocols.base import LONGEST_LABEL, StreamEvent
from exporters.probe.scheduling.prober import Prober
from exporters.probe.series.found import FoundCollector
from exporters.probe.series.rendered import RenderedMetrics
from exporters.probe.targets.models import served_models
from exporters.probe.targets.versions import version_at
from inferwatch.config import parse_config
from inferwatch.engines import load_engines

WILD = ["\ud800m", "m\udfff", "a\nb", "\x00", "\u2028", "x" * (LONGEST_LABEL + 1), "x" * 20_000]
# One event of each API that says all that it can say of itself; W stands for the server's word.
NAMING = {
    "openai-chat": {"model": "W", "system_fingerprint": "W", "choices": [{"finish_reason": "W", "delta": {}}]},
    "openai-completions": {"model": "W", "system_fingerprint": "W", "choices": [{"finish_reason": "W", "text": ""}]},
    "openai-responses": {
        "type": "response.incomplete",
        "response": {"model": "W", "incomplete_details": {"reason": "W"}},
    },
    "ollama": {"model": "W", "message": {"content": ""}, "done": True, "done_reason": "W"},
    "anthropic": {"type": "message_delta", "model": "W", "delta": {"stop_reason": "W"}},
    "tgi": {"model": "W", "token": {"text": "a"}, "details": {"finish_reason": "W"}},
    "llamacpp": {"model": "W", "content": "", "stop": True, "stop_type": "W"},
}


def said(api: str, word: str) -> list[StreamEvent]:
    """Return what an API's decoder makes of an event in which a server says this word wherever it can."""
    document = json.dumps(NAMING[api]).replace('"W"', json.dumps(word)).encode()
    decoder = PROTOCOLS[api].decoder()
    line = document + b"\n" if api == "ollama" else b"data: " + document + b"\n\n"
    return [*decoder.feed(line), *decoder.flush()]


def words(events: list[StreamEvent]) -> list[str]:
    named = [word for event in events for word in (event.model, event.fingerprint, event.finish_reason)]
    return [word for word in named if word]


def test_every_api_is_here() -> None:
    assert NAMING.keys() == PROTOCOLS.keys()


@pytest.mark.parametrize("api", NAMING)
def test_a_plain_word_is_taken_over(api: str) -> None:
    assert "plain" in words(said(api, "plain"))


@pytest.mark.parametrize("api", NAMING)
@given(word=st.sampled_from(WILD) | st.text(st.characters(exclude_categories=()), min_size=1))
def test_no_word_of_an_answer_is_more_than_a_label_can_be(api: str, word: str) -> None:
    for found in words(said(api, word)):
        assert len(found.encode()) <= 4 * LONGEST_LABEL and found.isprintable()


@pytest.mark.parametrize("wild", WILD)
@pytest.mark.parametrize(
    ("api", "path", "key", "name"),
    [("openai-chat", "/v1/models", "data", "id"), ("ollama", "/api/tags", "models", "name")],
)
def test_a_listed_model_that_cannot_be_a_label_is_passed_over(
    server: Server, api: str, path: str, key: str, name: str, wild: str
) -> None:
    asked = target(f"{server.url}/v1" if path.startswith("/v1") else server.url, api=api)
    server.pages[path] = {key: [{name: wild}, {name: "good"}]}
    assert served_models(asked, 30) == ["good"]
    server.pages[path] = {key: [{name: wild}]}
    with pytest.raises(ProbeError, match="lists no model whose name is printable and at most 128") as caught:
        served_models(asked, 30)
    assert caught.value.outcome == "not_found"
    assert len(str(caught.value)) < 300


def test_only_what_is_secret_is_kept_from_being_a_model_s_name(server: Server, tmp_path: Path) -> None:
    key, public = "sk-ant-secret-key", PROTOCOLS["anthropic"].headers["anthropic-version"]
    (tmp_path / "key").write_text(key)
    asked = target(server.url, api="anthropic", auth={"header": {"name": "x-api-key", "file": f"{tmp_path}/key"}})
    server.pages["/v1/models"] = {"data": [{"id": key}, {"id": public}, {"id": f"with-{key}"}]}
    assert served_models(asked, 30) == [public]


@pytest.mark.parametrize("wild", WILD)
def test_a_version_that_cannot_be_a_label_is_none(server: Server, wild: str) -> None:
    server.pages["/version"] = {"version": wild}
    asked = target(f"{server.url}/v1")
    assert version_at(asked, asked.url, load_engines()["vllm"]) is None


@pytest.mark.parametrize("wild", WILD)
def test_one_server_s_words_do_not_take_metrics_from_the_others(hostile: HostileServer, wild: str) -> None:
    hostile.models.clear()
    hostile.models["good"] = [wild]
    prober = Prober()
    places = {"odd": hostile.url("good"), "other": hostile.url("no_usage")}
    targets = [{"name": name, "url": url} for name, url in places.items()]
    for key in sorted(prober.apply(parse_config(json.dumps({"targets": targets}), "f", {}))):
        prober.run(key)
    registry = CollectorRegistry()
    registry.register(FoundCollector(prober.refusals.by_target, prober.identities.all, dict, lambda: None))
    page = RenderedMetrics(prober.records, prober.intervals, prober.inflight, registry)
    shown = b"".join(page({}, lambda *_: None)).decode()
    assert 'llm_probe_started_total{model_name="",scenario="short",target="odd"} 1.0' in shown
    assert 'llm_probe_started_total{model_name="hostile-model",scenario="short",target="other"} 1.0' in shown
    assert generate_latest(registry)

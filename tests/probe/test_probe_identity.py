"""Who answers, and whether that changed."""

import json

import pytest
from hostile import HostileServer
from hostile_apis import event
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from exporters.probe.protocols import PROTOCOLS
from exporters.probe.protocols.base import label
from exporters.probe.scheduling.prober import Prober
from exporters.probe.series.found import FoundCollector
from exporters.probe.targets.identity import Identities
from inferwatch.config import parse_config


@pytest.mark.parametrize(
    ("value", "shown"), [("org/model:7b", "org/model:7b"), ("", None), (None, None), ("a\nb", None), ("x" * 129, None)]
)
def test_a_name_is_a_short_printable_text(value: object, shown: str | None) -> None:
    assert label(value) == shown


def test_changes_are_counted_by_field() -> None:
    identities = Identities()
    assert identities.saw("chat", "m", "model-a", None) == []
    assert identities.saw("chat", "m", "model-a", "fp1") == []
    assert identities.saw("chat", "m", None, None) == []
    assert identities.saw("chat", "m", "model-b", "fp1") == ["model"]
    assert identities.saw("chat", "m", "model-b", "fp2") == ["system_fingerprint"]
    assert identities.saw("elsewhere", "m", "model-c", "fp3") == []
    found = identities.all()["chat", "m"]
    assert found.names == {"model": "model-b", "system_fingerprint": "fp2", "server_version": ""}
    assert found.changes == {"model": 1, "system_fingerprint": 1, "server_version": 0}
    identities.forget_all_but({"else"})
    assert not identities.all()


def page(identities: Identities) -> list[str]:
    registry = CollectorRegistry()
    registry.register(FoundCollector(dict, identities.all, dict, lambda: None))
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


def test_one_live_series_names_the_last_answer() -> None:
    identities = Identities()
    identities.saw("chat", "m", None, None)
    assert not [line for line in page(identities) if "info" in line]
    for name in ("model-a", "model-b"):
        identities.saw("chat", "m", name, None)
    shown = page(identities)
    labels = 'fingerprint="",model_name="m",response_model="model-b",server_version="",target="chat"'
    assert [line for line in shown if "info" in line] == [f"llm_probe_response_model_info{{{labels}}} 1.0"]
    assert 'llm_probe_model_identity_changes_total{field="model",model_name="m",target="chat"} 1.0' in shown


def test_a_version_belongs_to_the_model_of_its_server() -> None:
    identities = Identities()
    identities.saw("chat", "m", None, None)
    assert identities.saw_version("chat", "0.11.0") == []
    assert identities.saw_version("chat", "0.12.0") == ["server_version"]
    assert identities.saw_version("other", "1") == []
    shown = page(identities)
    labels = 'fingerprint="",model_name="m",response_model="",server_version="0.12.0",target="chat"'
    assert f"llm_probe_response_model_info{{{labels}}} 1.0" in shown
    changes = '{field="server_version",model_name="m",target="chat"} 1.0'
    assert f"llm_probe_model_identity_changes_total{changes}" in shown


def test_a_model_that_is_asked_for_no_more_is_shown_no_more() -> None:
    identities = Identities()
    identities.saw("chat", "old", "model-a", "fp")
    identities.saw("other", "old", "model-a", "fp")
    identities.saw("chat", "new", "model-b", None)
    assert set(identities.all()) == {("chat", "new"), ("other", "old")}


def test_a_probe_that_found_no_model_to_ask_for_says_nothing_of_who_answers() -> None:
    identities = Identities()
    identities.saw("chat", "m", "model-a", "fp")
    identities.saw_version("chat", "0.11.0")
    before = identities.all()
    assert identities.saw("chat", "", None, None) == []
    assert identities.all() == before


def test_the_version_is_kept_when_the_server_is_asked_for_another_model() -> None:
    identities = Identities()
    identities.saw("chat", "old", "model-a", "fp")
    identities.saw_version("chat", "0.11.0")
    assert identities.saw("chat", "new", "model-b", None) == []
    assert identities.all()["chat", "new"].names["server_version"] == "0.11.0"
    assert identities.saw_version("chat", "0.11.0") == []
    assert identities.saw_version("chat", "0.12.0") == ["server_version"]


def test_a_failed_listing_does_not_wipe_who_answers(hostile: HostileServer) -> None:
    hostile.models.clear()
    prober = Prober()
    url = hostile.url("good")
    prober.apply(parse_config(f"targets: [{json.dumps({'name': 'chat', 'url': url})}]", "f", {}))
    prober.run(("chat", "short"))
    before = prober.identities.all()
    assert list(before) == [("chat", "hostile-model")]
    prober._models.forget(prober.plans()["chat", "short"].target)
    hostile.models["good"] = []
    prober.run(("chat", "short"))
    series = prober.records()["chat", "short"].snapshot()[1]
    hostile.models.clear()
    assert (series.outcomes["not_found"], prober.identities.all()) == (1, before)


@pytest.mark.parametrize(
    ("edited", "kept"),
    [({}, True), ({"interval": "7s"}, True), ({"url": "http://b/v1"}, False), ({"api": "openai-completions"}, False)],
)
def test_another_server_is_not_shown_as_what_the_old_one_was(edited: dict[str, str], kept: bool) -> None:
    prober = Prober()
    target = {"name": "chat", "url": "http://a/v1", "model": "m"}
    prober.apply(parse_config(json.dumps({"targets": [target]}), "f", {}))
    prober.identities.saw("chat", "m", "model-a", "fp")
    prober.apply(parse_config(json.dumps({"targets": [target | edited]}), "f", {}))
    assert bool(prober.identities.all()) is kept


@pytest.mark.parametrize(
    ("api", "data"),
    [
        ("openai-chat", b'data: {"model": "served", "system_fingerprint": "fp", "choices": []}\n\n'),
        ("ollama", b'{"model": "served", "message": {"content": "a"}, "done": false}\n'),
        ("anthropic", event("message_start", message={"model": "served", "usage": {}})),
    ],
)
def test_each_api_names_the_model(api: str, data: bytes) -> None:
    (found,) = PROTOCOLS[api].decoder().feed(data)
    assert (found.model, found.fingerprint) == ("served", "fp" if api == "openai-chat" else None)


def test_a_probe_tells_who_answered(hostile: HostileServer) -> None:
    prober = Prober()
    url = hostile.base("ollama_good")
    prober.apply(
        parse_config(
            f"targets: [{json.dumps({'name': 'chat', 'url': url, 'api': 'ollama', 'model': 'asked'})}]", "f", {}
        )
    )
    prober.run(("chat", "short"))
    assert prober.identities.all()["chat", "asked"].names["model"] == "m"

"""What Prometheus is told to scrape."""

import json
from http import HTTPStatus

import pytest

from exporters.probe.targets import discovery
from exporters.probe.targets.engine_kinds import EngineKinds
from inferwatch.config import Config, Target, parse_config
from inferwatch.engines import load_engines
from inferwatch.exposition import Request


def config(*metrics: str, more: str = "") -> Config:
    text = f"targets:\n- name: chat\n  url: http://127.0.0.1:1/v1\n  metrics: {json.dumps(metrics)}\n  {more}\n"
    return parse_config(text, "inferwatch.yml", {})


def groups(in_force: Config, kinds: EngineKinds, model: str = "my-model") -> list[dict[str, object]]:
    return discovery.engines(in_force, kinds, lambda _: model)


def test_addresses_and_labels() -> None:
    in_force = config(
        "http://10.0.0.7:8000/metrics",
        "https://llm.example/engine/metrics",
        "http://[::1]/metrics",
        more="engine: vllm\n  gpus: {node: gpu-01, indices: [0]}",
    )
    common = {"target": "chat", "node": "gpu-01"}
    assert groups(in_force, EngineKinds()) == [
        {
            "targets": ["10.0.0.7:8000"],
            "labels": {"__scheme__": "http", "__metrics_path__": "/metrics", **common},
        },
        {
            "targets": ["llm.example:443"],
            "labels": {"__scheme__": "https", "__metrics_path__": "/engine/metrics", **common},
        },
        {"targets": ["[::1]:80"], "labels": {"__scheme__": "http", "__metrics_path__": "/metrics", **common}},
    ]


@pytest.mark.parametrize("name", sorted(load_engines()))
def test_model_name_is_set_only_for_engines_without_their_own(name: str) -> None:
    in_force = config("http://10.0.0.7:8000/metrics", more=f"engine: {name}")
    (group,) = groups(in_force, EngineKinds())
    assert ("model_name" in group["labels"]) is not load_engines()[name].own_model_name
    # A name that is not known yet is left out rather than guessed.
    assert "model_name" not in groups(in_force, EngineKinds(), model="")[0]["labels"]


def test_replicas_whose_metrics_need_a_key_are_in_the_list_of_that_key_alone() -> None:
    text = """
targets:
- {name: open, url: "http://a:1/v1", metrics: ["http://a:1/metrics"]}
- {name: guarded, url: "http://b:1/v1", metrics: ["http://b:1/metrics", "http://b:2/metrics"], metrics_auth: bearer}
- {name: other-key, url: "http://c:1/v1", metrics: ["https://c:1/metrics"], metrics_auth: team-b}
"""
    in_force = parse_config(text, "inferwatch.yml", {})

    def listed(auth: str | None) -> list[object]:
        return [group["targets"] for group in discovery.engines(in_force, EngineKinds(), lambda _: "m", auth)]

    assert listed(None) == [["a:1"]]
    assert listed("bearer") == [["b:1"], ["b:2"]]
    assert listed("team-b") == [["c:1"]]
    assert listed("nobody") == []


def test_gpu_exporters() -> None:
    text = "gpu_exporters: [{address: 'gpu-01:9810', node: gpu-01, expected: 8}]"
    assert discovery.gpus(parse_config(text, "inferwatch.yml", {})) == [
        {"targets": ["gpu-01:9810"], "labels": {"node": "gpu-01"}}
    ]


def test_without_a_configuration_the_answer_is_503_and_with_an_empty_one_an_empty_list() -> None:
    held: list[Config | None] = [None]
    route = discovery.answer(lambda: held[0], lambda config, _: discovery.gpus(config))
    refused = route(Request())
    assert refused.status == HTTPStatus.SERVICE_UNAVAILABLE and "no configuration was ever good" in refused.body
    held[0] = Config()
    answered = route(Request())
    assert (answered.status, json.loads(answered.body), answered.content_type) == (
        HTTPStatus.OK,
        [],
        "application/json",
    )


def test_a_target_without_metrics_is_not_listed() -> None:
    assert groups(config(), EngineKinds()) == []
    assert EngineKinds().name_of(Target.model_validate({"name": "a", "url": "http://h/v1"})) == "unknown"

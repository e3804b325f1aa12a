"""What Prometheus is told to scrape, and how engines are recognised."""

import json
from http import HTTPStatus
from pathlib import Path

import pytest
from hostile import HostileServer

from exporters.probe import discovery
from exporters.probe.discovery import EngineDiscovery
from inferwatch.config import Config, Target, parse_config
from inferwatch.engines import load_engines
from inferwatch.exposition import Request

VLLM = 'vllm:num_requests_running{model_name="m"} 1.0\n'
LLAMACPP = "llamacpp:requests_processing 1\n"


def config(*metrics: str, more: str = "") -> Config:
    text = f"targets:\n- name: chat\n  url: http://127.0.0.1:1/v1\n  metrics: {json.dumps(metrics)}\n  {more}\n"
    return parse_config(text, "inferwatch.yml", {})


def groups(in_force: Config, seen: EngineDiscovery, model: str = "my-model") -> list[dict[str, object]]:
    return discovery.engines(in_force, seen, lambda _: model)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_addresses_and_labels() -> None:
    in_force = config(
        "http://10.0.0.7:8000/metrics",
        "https://llm.example/engine/metrics",
        "http://[::1]/metrics",
        more="engine: vllm\n  gpus: {node: gpu-01, indices: [0]}",
    )
    common = {"target": "chat", "node": "gpu-01"}
    assert groups(in_force, EngineDiscovery()) == [
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
    (group,) = groups(in_force, EngineDiscovery())
    assert ("model_name" in group["labels"]) is not load_engines()[name].own_model_name
    # A name that is not known yet is left out rather than guessed.
    assert "model_name" not in groups(in_force, EngineDiscovery(), model="")[0]["labels"]


def test_engines_are_recognised_by_their_metrics(hostile: HostileServer) -> None:
    hostile.metrics.update(good=LLAMACPP, slow=VLLM)
    by_name = hostile.metrics_url("slow").replace("127.0.0.1", "localhost")
    in_force = config(hostile.metrics_url("good"), by_name)
    seen = EngineDiscovery()
    assert seen.engine_of(in_force.targets[0]) == "unknown"
    assert all("model_name" not in group["labels"] for group in groups(in_force, seen))
    seen.refresh(in_force)
    assert seen.engine_of(in_force.targets[0]) == "llamacpp"
    assert [group["labels"].get("model_name") for group in groups(in_force, seen)] == ["my-model", None]


def test_an_unknown_engine_is_asked_again_and_a_known_one_is_remembered(hostile: HostileServer) -> None:
    clock = Clock()
    seen = EngineDiscovery(clock)
    in_force = config(hostile.metrics_url("crlf"))

    def asked() -> int:
        return sum(peer.path == "/crlf/metrics" for peer in hostile.requests)

    seen.refresh(in_force)
    hostile.metrics["crlf"] = VLLM
    seen.refresh(in_force)
    assert (asked(), seen.engine_of(in_force.targets[0])) == (1, "unknown")
    clock.now += discovery.RETRY_SECONDS
    seen.refresh(in_force)
    assert (asked(), seen.engine_of(in_force.targets[0])) == (2, "vllm")
    # It goes down; what it is does not change by that.
    del hostile.metrics["crlf"]
    clock.now += discovery.RECHECK_SECONDS
    seen.refresh(in_force)
    assert (asked(), seen.engine_of(in_force.targets[0])) == (3, "vllm")
    # Another engine is started at the address.
    hostile.metrics["crlf"] = LLAMACPP
    clock.now += discovery.RECHECK_SECONDS
    seen.refresh(in_force)
    assert (asked(), seen.engine_of(in_force.targets[0])) == (4, "llamacpp")


def test_a_configured_engine_is_never_asked(hostile: HostileServer) -> None:
    in_force = config(hostile.metrics_url("no_space"), more="engine: vllm")
    seen = EngineDiscovery()
    seen.refresh(in_force)
    assert seen.engine_of(in_force.targets[0]) == "vllm"
    assert not [peer for peer in hostile.requests if peer.path == "/no_space/metrics"]


def test_keys_are_not_sent_to_metrics(hostile: HostileServer, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-secret")
    EngineDiscovery().refresh(config(hostile.metrics_url("no_done"), more=f"auth: {{bearer_file: {key}}}"))
    assert hostile.requests[-1].path == "/no_done/metrics"
    assert "authorization" not in hostile.requests[-1].headers


def test_gpu_exporters() -> None:
    text = "gpu_exporters: [{address: 'gpu-01:9810', node: gpu-01, expected: 8}]"
    assert discovery.gpus(parse_config(text, "inferwatch.yml", {})) == [
        {"targets": ["gpu-01:9810"], "labels": {"node": "gpu-01"}}
    ]


def test_without_a_configuration_the_answer_is_503_and_with_an_empty_one_an_empty_list() -> None:
    held: list[Config | None] = [None]
    route = discovery.answer(lambda: held[0], discovery.gpus)
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
    assert groups(config(), EngineDiscovery()) == []
    assert EngineDiscovery().engine_of(Target.model_validate({"name": "a", "url": "http://h/v1"})) == "unknown"

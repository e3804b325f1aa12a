"""How engines are recognised: by their metrics, and where those do not tell, by what the server says."""

import json
from pathlib import Path

import pytest
from page_server import Server

from exporters.probe.targets import engine_kinds
from exporters.probe.targets.engine_kinds import EngineKinds
from exporters.probe.targets.recognition import Recognised, by_metrics
from inferwatch.config import Config, parse_config

VLLM = 'vllm:num_requests_running{model_name="m"} 1.0\n'
LLAMACPP = "llamacpp:requests_processing 1\n"
OF_VLLM = {"data": [{"id": "m", "owned_by": "vllm"}]}
OF_NOBODY = {"data": [{"id": "m", "owned_by": "somebody"}, {"id": "n"}, "odd"]}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def config(url: str, *metrics: str, more: str = "") -> Config:
    text = f"targets:\n- name: chat\n  url: {url}/v1\n  metrics: {json.dumps(metrics)}\n  {more}\n"
    return parse_config(text, "inferwatch.yml", {})


def seen(in_force: Config, clock: Clock | None = None) -> list[tuple[str, str]]:
    """Return (engine, by) of each address of the only target."""
    kinds = EngineKinds(clock or Clock())
    kinds.refresh(in_force)
    return [(kind.engine.name, kind.by) for kind in kinds.of(in_force.targets[0]).values()]


def test_by_its_metrics(server: Server) -> None:
    server.pages["/metrics"] = LLAMACPP
    assert seen(config(server.url, f"{server.url}/metrics")) == [("llamacpp", "metrics")]


def test_by_metrics_that_have_moved_to_the_address_with_a_slash(server: Server) -> None:
    server.moved["/metrics"], server.pages["/metrics/"] = "/metrics/", VLLM
    assert seen(config(server.url, f"{server.url}/metrics")) == [("vllm", "metrics")]
    for elsewhere in ("/login/", "http://[x", "//[::1/metrics/", "http://h]"):
        server.moved["/metrics"] = elsewhere
        assert seen(config(server.url, f"{server.url}/metrics")) == []


def test_one_place_that_cannot_be_dealt_with_keeps_no_other_from_being_recognised(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail_at_odd(url: str) -> Recognised | None:
        if "odd" in url:
            raise KeyError("a bug")
        return by_metrics(url)

    monkeypatch.setattr(engine_kinds, "by_metrics", fail_at_odd)
    server.pages["/metrics"] = VLLM
    urls = [f"{server.url}/{path}" for path in ("odd", "metrics", "odder")]
    targets = [{"name": f"t{i}", "url": "http://127.0.0.1:9/v1", "metrics": [url]} for i, url in enumerate(urls)]
    kinds, in_force = EngineKinds(Clock()), parse_config(json.dumps({"targets": targets}), "inferwatch.yml", {})
    for _ in range(3):
        kinds.refresh(in_force)
    assert [kinds.name_of(target) for target in in_force.targets] == ["unknown", "vllm", "unknown"]
    told = [record.getMessage() for record in caplog.records if "inferwatch failed" in record.getMessage()]
    assert sorted(line.partition(";")[0].rpartition(" ")[2] for line in told) == [urls[0], urls[2]]


def test_by_its_list_of_models_with_the_targets_key_where_metrics_are_guarded(server: Server, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-secret")
    server.key = "sk-secret"
    server.pages |= {"/metrics": VLLM, "/v1/models": OF_VLLM}
    in_force = config(server.url, f"{server.url}/metrics", more=f"auth: {{bearer_file: {key}}}")
    assert seen(in_force) == [("vllm", "models")]
    # The key belongs to the endpoint; nothing says that it is the metrics' too.
    assert ("/metrics", None) in server.asked
    assert ("/v1/models", "Bearer sk-secret") in server.asked


def test_by_what_the_server_says_of_itself(server: Server) -> None:
    server.pages |= {"/v1/models": OF_NOBODY, "/props": {"default_generation_settings": {}, "total_slots": 4}}
    assert seen(config(server.url)) == [("llamacpp", "info")]


def test_by_its_headers(server: Server) -> None:
    server.pages |= {"/v1/models": OF_NOBODY}
    server.headers = {"X-LiteLLM-Version": "1.95.1"}
    assert seen(config(server.url)) == [("litellm", "headers")]


@pytest.mark.parametrize("document", [OF_NOBODY, [], "text", {"data": 5}, {"data": [{"owned_by": 5}]}, {"data": None}])
def test_a_server_that_says_nothing_known_is_unknown_and_asked_seldom(server: Server, document: object) -> None:
    server.pages["/v1/models"] = document
    in_force, clock = config(server.url), Clock()
    kinds = EngineKinds(clock)
    kinds.refresh(in_force)
    assert (kinds.name_of(in_force.targets[0]), dict(kinds.of(in_force.targets[0]))) == ("unknown", {})
    clock.now += engine_kinds.RECHECK_SECONDS
    kinds.refresh(in_force)
    assert server.times("/v1/models") == 1
    clock.now += engine_kinds.SILENT_SECONDS
    kinds.refresh(in_force)
    assert server.times("/v1/models") == 2


def test_a_gateways_list_of_models_does_not_name_the_engines_behind_it(server: Server) -> None:
    server.pages |= {"/v1/models": OF_VLLM, "/metrics": "unheard_of 1\n"}
    elsewhere = f"http://localhost:{server.port}/metrics"
    assert seen(config(server.url, elsewhere)) == []
    assert server.times("/v1/models") == 0


def test_an_unknown_engine_is_asked_again_and_a_known_one_is_remembered(server: Server) -> None:
    clock = Clock()
    kinds = EngineKinds(clock)
    in_force = config(server.url, f"{server.url}/metrics")

    def at(seconds: float) -> tuple[int, str]:
        clock.now += seconds
        kinds.refresh(in_force)
        return server.times("/metrics"), kinds.name_of(in_force.targets[0])

    assert at(0) == (1, "unknown")
    server.pages["/metrics"] = VLLM
    assert at(0) == (1, "unknown")
    assert at(engine_kinds.RETRY_SECONDS) == (2, "vllm")
    # Another engine is started at the address.
    server.pages["/metrics"] = LLAMACPP
    assert at(engine_kinds.RECHECK_SECONDS) == (3, "llamacpp")


def test_an_engine_that_is_down_is_still_what_it_was(server: Server) -> None:
    server.pages["/metrics"] = VLLM
    clock = Clock()
    kinds = EngineKinds(clock)
    in_force = config(server.url, f"{server.url}/metrics")
    kinds.refresh(in_force)
    del server.pages["/metrics"]
    server.pages["/v1/models"] = OF_NOBODY
    clock.now += engine_kinds.RECHECK_SECONDS
    kinds.refresh(in_force)
    assert kinds.name_of(in_force.targets[0]) == "vllm"


def test_a_configured_engine_is_never_asked(server: Server) -> None:
    for in_force in (
        config(server.url, more="engine: vllm"),
        config(server.url, f"{server.url}/m", more="engine: vllm"),
    ):
        assert seen(in_force) == [("vllm", "configuration")]
    assert server.asked == []


def test_an_address_that_refuses_is_unknown(free_port: int) -> None:
    url = f"http://127.0.0.1:{free_port}"
    assert seen(config(url, f"{url}/metrics")) == []
    assert seen(config(url)) == []


def test_a_key_that_cannot_be_read_is_not_an_error(server: Server, tmp_path: Path) -> None:
    assert seen(config(server.url, more=f"auth: {{bearer_file: {tmp_path / 'missing'}}}")) == []
    assert server.asked == []

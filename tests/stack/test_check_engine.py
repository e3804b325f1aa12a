"""The engine's metrics and other machines' GPU exporters: each finding, against real servers."""

import pytest
from check_fakes import HTML, JSON, LLAMACPP, SECRET, TEXT, VLLM, Server, found, models, one, serving

from inferwatch.config import parse_config
from stack.check import engine
from stack.check import run as check_run
from stack.check.findings import Finding


def metrics_finding(server: Server, path: str = "/metrics", extra: str = "") -> Finding:
    server.routes.setdefault("/v1/models", models("m", owner="somebody"))
    with serving(server):
        url = f"http://127.0.0.1:{server.port}{path}"
        return one(found(server, f"metrics: ['{url}']{extra}"), "metrics")


@pytest.mark.parametrize(
    ("answer", "text", "todo"),
    [
        ((501, JSON, '{"error":{"message":"This server does not support metrics endpoint."}}'),
         "llama.cpp runs without metrics", "start it with --metrics"),
        ((404, JSON, "{}"), "answers 404", "llama.cpp needs --metrics, SGLang --enable-metrics; vLLM"),
        ((500, JSON, "{}"), "answers 500", "log"),
        ((200, HTML, "<!doctype html>"), "answers with a web page", "address of the engine's Prometheus metrics"),
        ((200, JSON, '[{"iter": 1}]'), "answers with JSON", "address of the engine's Prometheus metrics"),
        ((200, TEXT, ""), "answers with no metrics", "address of the engine's Prometheus metrics"),
    ],
)  # fmt: skip
def test_metrics_that_are_none(answer: tuple[int, str, str], text: str, todo: str) -> None:
    finding = metrics_finding(Server({"/metrics": answer}))
    assert finding.level == "fail"
    assert text in finding.text
    assert todo in finding.todo


def test_metrics_at_another_path() -> None:
    server = Server({"/metrics": (200, TEXT, VLLM)})
    finding = metrics_finding(server, "/prom")
    assert f"http://127.0.0.1:{server.port}/metrics has vLLM's metrics" in finding.text
    assert finding.todo == f"write http://127.0.0.1:{server.port}/metrics"


def test_metrics_behind_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T_KEY", SECRET)
    finding = metrics_finding(
        Server({"/metrics": (200, TEXT, LLAMACPP)}, key=SECRET), extra=", auth: {bearer_env: T_KEY}"
    )
    assert finding.level == "warn"
    assert "llama.cpp's metrics answer with the key only, and Prometheus scrapes without it" in finding.text
    assert finding.todo.startswith("write metrics_auth: bearer, and give Prometheus the key")


@pytest.mark.parametrize(
    ("name", "todo"), [("bearer", "the file secrets/engine-metrics-key"), ("team-b", "/sd/engines?auth=team-b")]
)
def test_metrics_behind_the_key_that_the_file_tells_of(monkeypatch: pytest.MonkeyPatch, name: str, todo: str) -> None:
    monkeypatch.setenv("T_KEY", SECRET)
    server = Server({"/metrics": (200, TEXT, LLAMACPP)}, key=SECRET)
    finding = metrics_finding(server, extra=f", metrics_auth: {name}, auth: {{bearer_env: T_KEY}}")
    assert (finding.level, "llama.cpp's metrics answer with the key only" in finding.text) == ("ok", True)
    assert todo in finding.todo


def test_metrics_that_ask_for_no_key_though_the_file_says_so() -> None:
    finding = metrics_finding(Server({"/metrics": (200, TEXT, VLLM)}), extra=", metrics_auth: bearer")
    assert (finding.level, finding.todo) == ("ok", "it asks for no key; leave metrics_auth out")


def test_metrics_that_have_moved() -> None:
    server = Server({"/metrics": (307, TEXT, "")}, headers={"Location": "/metrics/"})
    finding = metrics_finding(server)
    assert finding.text.endswith(f"answers 307 and leads to http://127.0.0.1:{server.port}/metrics/")


def test_an_engine_that_says_what_it_is_where_its_metrics_do_not() -> None:
    sglang = models("m", owner="sglang")
    finding = metrics_finding(Server({"/v1/models": sglang}))
    assert finding.text.endswith("answers 404; the server is SGLang, by owned_by in its list of models")
    assert "--enable-metrics" in finding.todo
    finding = metrics_finding(Server({"/v1/models": sglang, "/metrics": (200, TEXT, "newengine_queue 2\n")}))
    assert finding.text.endswith("(newengine_queue); its server is SGLang, by owned_by in its list of models")
    with serving(Server({"/v1/models": models("m", owner="library"), "/metrics": (404, TEXT, "")})) as server:
        finding = one(found(server), "metrics")
    assert finding.text.startswith("none of Ollama (by owned_by in its list of models) configured")


def test_metrics_behind_a_key_that_the_target_lacks() -> None:
    finding = metrics_finding(Server({"/metrics": (200, TEXT, LLAMACPP)}, key=SECRET, open_paths=("/v1/models",)))
    assert "asks for a key (401), and the target has no auth: to try it with" in finding.text


def test_metrics_behind_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T_KEY", "sk-wrong")
    server = Server({"/metrics": (200, TEXT, LLAMACPP)}, key=SECRET, open_paths=("/v1/models",))
    finding = metrics_finding(server, extra=", auth: {bearer_env: T_KEY}")
    assert (finding.level, "refuses the target's key (401)" in finding.text) == ("fail", True)


def test_an_engine_that_is_not_known() -> None:
    finding = metrics_finding(Server({"/metrics": (200, TEXT, "process_cpu_seconds_total 1\nnewengine_queue 2\n")}))
    assert finding.level == "warn"
    assert "2 series of an engine that is not known (newengine_queue)" in finding.text


def test_another_engine_than_configured() -> None:
    finding = metrics_finding(Server({"/metrics": (200, TEXT, VLLM)}), extra=", engine: llamacpp")
    assert (finding.level, "has vLLM's metrics, not those of llamacpp" in finding.text) == ("fail", True)


def test_metrics_that_are_there_and_not_configured() -> None:
    with serving(Server({"/v1/models": models("m"), "/metrics": (200, TEXT, LLAMACPP)})) as server:
        finding = one(found(server), "metrics")
    assert finding.level == "warn"
    assert finding.todo == f"write metrics: [http://127.0.0.1:{server.port}/metrics]"


def test_a_remote_api_without_metrics_is_fine() -> None:
    with serving(Server({"/v1/models": models("m", owner="somebody")})) as server:
        finding = one(found(server), "metrics")
    assert finding.level == "ok"
    assert "none configured" in finding.text


def test_a_replica_that_refuses_the_connection(free_port: int) -> None:
    with serving(Server({"/v1/models": models("m"), "/metrics": (200, TEXT, VLLM)})) as server:
        urls = [f"http://127.0.0.1:{server.port}/metrics", f"http://127.0.0.1:{free_port}/metrics"]
        findings = [one for one in found(server, f"metrics: {urls}") if one.step == "metrics"]
    assert [finding.level for finding in findings] == ["ok", "fail"]
    assert f"127.0.0.1:{free_port} refuses the connection" in findings[1].text


def test_samples_are_counted_without_comments() -> None:
    assert engine.samples('# HELP a b\na 1\na{x="1"} 2\n\n<p>\nb:c 3\n') == ["a", "a", "b:c"]


def test_spending_over_the_budget(free_port: int) -> None:
    findings = found(Server(port=free_port), "probe_budget: {tokens_per_day: 1000}, interval: 30s")
    finding = one(findings, "spending")
    assert finding.level == "warn"
    assert "184,320 of them output (short: 64 every 30s)" in finding.text
    assert "the budget is 1,000 tokens" in finding.text


@pytest.mark.parametrize(
    ("body", "expected", "level", "text"),
    [
        ('gpu_exporter_nvml_up 1.0\ngpu_up{gpu="0"} 1\ngpu_up{gpu="1"} 1\n', 2, "ok", "2 GPUs"),
        ("gpu_exporter_nvml_up 1.0\ngpu_up{gpu=\"0\"} 1\n", 8, "fail", "1 GPU, and expected: says 8"),
        ("gpu_exporter_nvml_up 0.0\ngpu_exporter_nvml_init_error_code 12.0\n", 8, "fail", "(NVML code 12)"),
        ('gpu_exporter_nvml_up 1.0\ngpu_exporter_simulated 1.0\ngpu_up{gpu="0"} 1\n', 1, "warn", "are simulated"),
        ("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 40\n", 1, "ok", "dcgm-exporter answers, with 1 GPU"),
        ("node_load1 0.3\n", 1, "fail", "what answers is no GPU exporter"),
    ],
)  # fmt: skip
def test_gpu_exporters(body: str, expected: int, level: str, text: str) -> None:
    with serving(Server({"/metrics": (200, TEXT, body)})) as server:
        config = parse_config(
            f"gpu_exporters: [{{address: '127.0.0.1:{server.port}', node: n, expected: {expected}}}]", "c.yml", {}
        )
        findings = check_run.check_gpu_exporter(config.gpu_exporters[0])
    assert any(finding.level == level and text in finding.text for finding in findings), findings

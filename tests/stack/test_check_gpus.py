"""What `inferwatch check` says of GPUs: their number, and whether processes are where the file says."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from check_fakes import TEXT, Server, make_certificate, serving
from rich.console import Console

from exporters.gpu import metrics as gpu
from inferwatch.config import parse_config
from stack.check import gpus as check_gpus
from stack.check.findings import Finding, Report
from stack.check.gpus import check_gpu_exporter, check_own_gpus, serving_on
from stack.check.run import check

TARGETS = """\
targets:
- {name: chat, url: 'http://127.0.0.1:9/v1', gpus: {node: gpu-01, indices: [0, 1]}}
- {name: code, url: 'http://127.0.0.1:9/v1', gpus: {indices: [0]}}
- {name: cheap, url: 'http://127.0.0.1:9/v1', gpus: {count: 2}}
- {name: remote, url: 'http://127.0.0.1:9/v1'}
"""


def page(*processes: int | None, down: tuple[int, ...] = (), simulated: bool = False) -> str:
    """Return a page with a GPU for each number of processes; None tells none, as in MIG mode without the right."""
    lines = [f"{gpu.NVML_UP} 1.0", f"{gpu.SIMULATED} {float(simulated)}"]
    for index, count in enumerate(processes):
        lines.append(f'{gpu.UP}{{gpu="{index}",uuid="GPU-{index}"}} {float(index not in down)}')
        if count is not None and index not in down:
            lines.append(f'{gpu.PROCESSES}{{gpu="{index}",uuid="GPU-{index}",type="compute"}} {float(count)}')
    return "\n".join(lines) + "\n"


def checked(body: str, wanted: dict[str, list[int]], expected: int | None = None) -> list[Finding]:
    with serving(Server({"/metrics": (200, TEXT, body)})) as server:
        says = "" if expected is None else f", expected: {expected}"
        text = f"gpu_exporters: [{{address: '127.0.0.1:{server.port}', node: gpu-01{says}}}]"
        return check_gpu_exporter(parse_config(text, "c.yml", {}).gpu_exporters[0], wanted)


def told(findings: list[Finding], step: str = "mapping") -> list[tuple[str, str, str]]:
    return [(one.level, one.text, one.todo) for one in findings if one.step == step]


def test_targets_are_found_by_node() -> None:
    config = parse_config(TARGETS, "c.yml", {})
    assert serving_on(config, "gpu-01") == {"chat": [0, 1]}
    assert serving_on(config, "local") == {"code": [0]}
    assert serving_on(config, "gpu-02") == {}


def test_processes_where_the_file_says() -> None:
    assert told(checked(page(1, 2), {"chat": [0, 1]})) == [("ok", "chat: processes are on GPU 0, 1", "")]


def test_no_process_on_a_gpu_of_a_target() -> None:
    assert told(checked(page(1, 0), {"chat": [0, 1]})) == [
        (
            "warn",
            "chat is to run on GPU 1, and no process is there",
            "start the engine, or correct gpus: of chat",
        )
    ]


def test_processes_on_other_gpus_are_named() -> None:
    findings = told(checked(page(0, 1, 1), {"chat": [0], "code": [2]}))
    assert findings[0][1] == "chat is to run on GPU 0, and no process is there; GPU 1 is in use and serves no target"
    assert findings[1] == ("ok", "code: processes are on GPU 2", "")


def test_a_gpu_that_is_not_there() -> None:
    (finding,) = told(checked(page(1), {"chat": [0, 5]}))
    assert finding == (
        "fail",
        "chat is to run on GPU 5, which the exporter does not have; it has GPU 0",
        "correct gpus: of chat",
    )


def test_what_the_driver_does_not_tell_is_not_judged() -> None:
    assert told(checked(page(None), {"chat": [0]})) == []


def test_simulated_gpus_have_no_processes_to_compare() -> None:
    findings = checked(page(0, simulated=True), {"chat": [0]})
    assert told(findings) == []
    assert ("warn", "its GPUs are simulated") in [(one.level, one.text) for one in findings]


def test_a_gpu_that_is_down_is_named_and_not_judged() -> None:
    findings = checked(page(1, 1, down=(1,)), {"chat": [0, 1]}, expected=2)
    assert told(findings) == [("ok", "chat: processes are on GPU 0", "")]
    assert [(level, text) for level, text, _ in told(findings, "gpus")] == [
        ("ok", "1 GPU"),
        ("fail", "GPU 1 cannot be read"),
    ]


@pytest.mark.parametrize(("expected", "level"), [(2, "ok"), (3, "fail"), (1, "fail")])
def test_the_number_of_gpus(expected: int, level: str) -> None:
    assert told(checked(page(0, 0), {}, expected), "gpus")[0][0] == level


def test_what_is_no_page_of_metrics() -> None:
    assert told(checked("{}{}{}\n", {}), "metrics")[0][0] == "fail"


def test_an_exporter_behind_a_password() -> None:
    with serving(Server({"/metrics": (200, TEXT, page(1))}, key="k")) as server:
        text = f"gpu_exporters: [{{address: '127.0.0.1:{server.port}', node: gpu-01}}]"
        findings = check_gpu_exporter(parse_config(text, "c.yml", {}).gpu_exporters[0])
    ((level, said, todo),) = told(findings, "metrics")
    assert level == "warn"
    assert "asks for a password" in said
    assert "docs/web-config.md" in todo


@pytest.mark.tool("openssl")
def test_an_exporter_behind_tls(tool: Callable[[str], Path], tmp_path: Path) -> None:
    from inferwatch.exposition import ExpositionServer
    from inferwatch.web_config.keeper import WebConfigKeeper

    certificate, key = make_certificate(tool("openssl"), tmp_path, days=2)
    (tmp_path / "web.yml").write_text(f"tls_server_config: {{cert_file: {certificate.name}, key_file: {key.name}}}\n")
    server = ExpositionServer("gpu", "127.0.0.1:0", None, web=WebConfigKeeper(tmp_path / "web.yml"))
    server.start()
    try:
        text = f"gpu_exporters: [{{address: '{server.address}', node: gpu-01}}]"
        findings = check_gpu_exporter(parse_config(text, "c.yml", {}).gpu_exporters[0])
    finally:
        server.stop()
    ((level, said, _),) = told(findings, "metrics")
    assert (level, said) == ("warn", f"{server.address} speaks TLS, which /sd/gpus cannot say")


# The stack's own exporter, which a machine without a GPU rightly has not.


def test_own_gpus_are_compared() -> None:
    with serving(Server({"/metrics": (200, TEXT, page(0))})) as server:
        findings = check_own_gpus({"code": [0]}, f"127.0.0.1:{server.port}")
    assert told(findings)[0][1] == "code is to run on GPU 0, and no process is there"


def test_no_own_exporter_is_no_failure(free_port: int) -> None:
    ((level, text, _),) = told(check_own_gpus({"code": [0]}, f"127.0.0.1:{free_port}"), "gpus")
    assert level == "ok"
    assert text == f"no GPU exporter answers at 127.0.0.1:{free_port}, so that gpus: of code cannot be compared"


def test_the_command_compares_each_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_port: int) -> None:
    out = io.StringIO()
    with (
        serving(Server({"/metrics": (200, TEXT, page(0, 1))})) as remote,
        serving(Server({"/metrics": (200, TEXT, page(1))})) as own,
    ):
        monkeypatch.setattr("stack.check.run.own_address", lambda: f"127.0.0.1:{own.port}")
        exporters = f"gpu_exporters: [{{address: '127.0.0.1:{remote.port}', node: gpu-01}}]\n"
        (tmp_path / "c.yml").write_text(exporters + TARGETS.replace("127.0.0.1:9/", f"127.0.0.1:{free_port}/"))
        check(tmp_path / "c.yml", Report(Console(file=out, width=200)))
    shown = out.getvalue()
    assert "chat is to run on GPU 0, and no process is there" in shown
    assert "GPUs of this machine" in shown
    assert "code: processes are on GPU 0" in shown


def test_the_own_exporter_is_where_this_process_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_gpus, "inside_container", lambda: True)
    assert check_gpus.own_address() == "gpu-exporter:9810"
    monkeypatch.setattr(check_gpus, "inside_container", lambda: False)
    assert check_gpus.own_address() == "127.0.0.1:9810"

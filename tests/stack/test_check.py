"""`inferwatch check` as a whole: findings in order, exit codes, and what is never printed."""

import io
from pathlib import Path

import pytest
from check_fakes import JSON, SECRET, TEXT, VLLM, Server, found, models, one, serving
from rich.console import Console

from stack.check import reach
from stack.check.findings import Report
from stack.check.run import check


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the checks believe that they run outside a container, wherever the tests do."""
    monkeypatch.setattr(reach, "inside_container", lambda: False)


def test_a_good_target_has_only_good_findings() -> None:
    with serving(Server({"/v1/models": models("m"), "/metrics": (200, TEXT, VLLM)})) as server:
        findings = found(server, f"model: m, metrics: ['http://127.0.0.1:{server.port}/metrics']")
    assert {finding.level for finding in findings} == {"ok"}
    assert one(findings, "model").text == "m is served"
    assert one(findings, "metrics").text.endswith("has 1 series of vLLM, by the names of its metrics")
    assert one(findings, "auth").text == "/models asks for no key"
    assert one(findings, "spending").text.startswith(
        "probes use at most about 112,320 tokens a day, 92,160 of them output (short: 64 every 1m)"
    )


def run_check(file: Path, terminal: bool = False) -> tuple[int, str]:
    out = io.StringIO()
    report = Report(Console(file=out, force_terminal=terminal, color_system="standard" if terminal else None, width=80,
                            highlight=False, soft_wrap=True))  # fmt: skip
    return check(file, report), out.getvalue()


def test_exit_codes_and_one_line_per_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("INFERWATCH_TARGET_URL", raising=False)
    file = tmp_path / "inferwatch.yml"
    with serving(Server({"/v1/models": models("m")})) as server:
        file.write_text(f"targets: [{{name: a, url: 'http://127.0.0.1:{server.port}/v1'}}]")
        code, out = run_check(file)
        assert code == 0
        assert out.splitlines()[0] == str(file)
        assert "\n  ok   model     m is probed, the first that is served\n" in out
        assert out.splitlines()[-1].endswith("0 warnings, 0 failures")
        assert "\x1b" not in out
        assert "\x1b[" in run_check(file, terminal=True)[1]
    assert run_check(file)[0] == 1
    file.write_text("targets: [{name: a, ulr: x}]")
    assert run_check(file)[0] == 2
    assert "unknown key; did you mean url?" in capsys.readouterr().err
    file.write_text("targets: []")
    assert run_check(file)[0] == 0


def test_no_secret_is_printed_and_no_server_steers_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key"
    key.write_text(SECRET + "\n")
    file = tmp_path / "inferwatch.yml"
    # A server that throws the key back, in every way that the check reads.
    echo = Server(
        {"/v1/models": models("\x1b[2Jm"), "/metrics": (401, JSON, SECRET)}, key=SECRET, headers={"X-Key": SECRET}
    )
    with serving(echo) as server:
        file.write_text(
            f"targets: [{{name: a, url: 'http://127.0.0.1:{server.port}/v1', auth: {{bearer_file: {key}}}, "
            f"metrics: ['http://127.0.0.1:{server.port}/metrics']}}]"
        )
        _, out = run_check(file)
    assert "the server takes the key" in out
    assert SECRET not in out
    assert "\x1b" not in out

"""The `inferwatch` command as a person runs it."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from stack import launch


def inferwatch(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stack.cli", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_version_is_printed() -> None:
    done = inferwatch("version")
    assert done.returncode == 0
    assert done.stdout.startswith("inferwatch ")


def test_every_command_is_listed() -> None:
    listed = inferwatch("--help").stdout
    for command in ("up", "demo", "check", "gpu", "probe", "page", "version"):
        assert f"\n  {command} " in listed


@pytest.mark.parametrize("command", ["up", "check", "probe"])
def test_a_missing_configuration_is_a_sentence_and_exit_code_2(tmp_path: Path, command: str) -> None:
    done = inferwatch(command, "-c", str(tmp_path / "none.yml"))
    assert done.returncode == 2
    assert "none.yml: there is no such file" in done.stderr
    # The option that it names is one that the command has.
    (option,) = re.findall(r" with (--\S+)\n", done.stderr)
    assert f" {option} " in inferwatch(command, "--help").stdout
    assert "Traceback" not in done.stderr


def test_a_broken_configuration_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "inferwatch.yml"
    file.write_text("targets:\n- name: chat\n  url: nowhere\n")
    done = inferwatch("up", "-c", str(file))
    assert done.returncode == 2
    assert "inferwatch.yml:3: targets[0].url" in done.stderr


def test_a_taken_port_names_the_service_and_the_holder(tmp_path: Path) -> None:
    file = tmp_path / "inferwatch.yml"
    file.write_text("targets: []\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        done = inferwatch(
            "up", "-c", str(file), "--free-ports", "--port", f"prometheus={port}", "--run-dir", str(tmp_path / "run")
        )
    assert done.returncode == 1
    assert f"prometheus needs port {port}, but " in done.stderr
    assert "(pid " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("given", ["prometheus", "prometheus=x", "grafana=1", "prometheus=0", "prometheus=65536"])
def test_a_bad_port_says_what_to_write(given: str) -> None:
    done = inferwatch("demo", "--port", given)
    assert done.returncode == 1
    assert f"--port {given}: write NAME=PORT" in done.stderr


def test_a_bad_duration_says_what_to_write() -> None:
    done = inferwatch("demo", "--for", "2 minutes")
    assert done.returncode == 2
    assert "write one such as 80ms, 2s or 1m30s" in done.stderr


def test_a_second_run_in_the_same_folder_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "demo.yml").write_text("the running demo's own")
    with launch.locked(tmp_path):
        done = inferwatch("demo", "--free-ports", "--run-dir", str(tmp_path))
    assert done.returncode == 1
    assert f"another inferwatch (pid {os.getpid()}) runs in {tmp_path}" in done.stderr
    assert (tmp_path / "demo.yml").read_text() == "the running demo's own"

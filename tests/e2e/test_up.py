"""`inferwatch up` against endpoints of one's own, with nothing but a configuration file."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from stack.gpus import real_gpus

pytestmark = [pytest.mark.tool("prometheus", "alertmanager"), pytest.mark.timeout(300)]


def test_it_runs_for_a_while_and_leaves_nothing_behind(tmp_path: Path) -> None:
    config = tmp_path / "inferwatch.yml"
    config.write_text("targets: []\n")
    run = tmp_path / "run"
    command = [sys.executable, "-m", "stack.cli", "up", "-c", str(config), "--free-ports", f"--run-dir={run}"]
    done = subprocess.run(
        [*command, "--for=3s"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False
    )
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    assert "names no target yet" in said
    assert "it ends by itself in 3 s" in said
    assert said.count("\n    http://") == 1
    assert "everything that was started has ended" in said
    status = json.loads((run / "status.json").read_text())
    assert {"page", "probe-exporter", "alertmanager", "prometheus"} <= set(status)
    assert {one["detail"] for one in status.values()} == {"stopped"}
    assert not [one["pid"] for one in status.values() if psutil.pid_exists(one["pid"])]
    if not real_gpus().count:
        assert "the GPU exporter is not started: " in said
        assert "gpu-exporter" not in status

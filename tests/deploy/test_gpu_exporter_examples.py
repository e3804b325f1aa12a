"""What the GPU exporter's unit and DaemonSet start exists, and they give it no more than they say."""

import configparser
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from compose import CHECKOUT

from exporters.gpu.__main__ import PORT, _parser

UNIT = CHECKOUT / "deploy" / "systemd" / "gpu-exporter.service"
DAEMON_SET = CHECKOUT / "deploy" / "kubernetes" / "gpu-exporter.yml"


def test_the_unit_starts_a_command_that_takes_its_flags() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNIT)
    service = unit["Service"]
    program, *flags = service["ExecStart"].split()
    assert Path(program).name == "gpu-exporter"
    assert _parser().parse_args(flags).listen == f":{PORT}"
    # The exporter ends with a code when only a new process helps.
    assert service["Restart"] == "on-failure"
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert service["CapabilityBoundingSet"] == service["AmbientCapabilities"] == "CAP_SYSLOG"
    # These would hide the GPUs and the kernel's log.
    assert not {"PrivateDevices", "ProtectKernelLogs", "DeviceAllow"} & set(service)


@pytest.mark.tool("systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path, tool: Callable[[str], Path]) -> None:
    unit = tmp_path / UNIT.name
    # The program is not installed here, and the verifier looks.
    unit.write_text(UNIT.read_text().replace("/opt/inferwatch/.venv/bin/gpu-exporter", "/bin/true"))
    verified = subprocess.run(
        [tool("systemd-analyze"), "verify", "--man=no", unit], capture_output=True, text=True, check=False
    )
    assert "gpu-exporter.service" not in verified.stderr


def test_the_daemon_set_needs_no_privilege() -> None:
    pod = yaml.safe_load(DAEMON_SET.read_text())["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    program, *flags = container["command"]
    assert program == "gpu-exporter"
    assert _parser().parse_args(flags).listen == f":{PORT}"
    assert [port["containerPort"] for port in container["ports"]] == [PORT]
    assert pod["hostPID"] is True
    security = container["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["runAsNonRoot"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert "privileged" not in security
    # All GPUs, and none taken from the scheduler.
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"} in container["env"]
    assert not any("nvidia.com/gpu" in kind for kind in container["resources"].values())

"""What the GPU exporter's unit and DaemonSet start exists, and they give it no more than they say."""

import configparser
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose import CHECKOUT, services

from exporters.gpu.__main__ import PORT, _parser

UNIT = CHECKOUT / "deploy" / "systemd" / "gpu-exporter.service"
DAEMON_SET = CHECKOUT / "deploy" / "kubernetes" / "gpu-exporter.yml"
OVERRIDES = CHECKOUT / "deploy" / "compose"
RUNNING = CHECKOUT / "docs" / "gpu-exporter-running.md"


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


def security_of(container: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = container["securityContext"]
    return found


def test_the_daemon_set_needs_no_privilege() -> None:
    pod = yaml.safe_load(DAEMON_SET.read_text())["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    program, *flags = container["command"]
    assert program == "gpu-exporter"
    assert _parser().parse_args(flags).listen == f":{PORT}"
    assert [port["containerPort"] for port in container["ports"]] == [PORT]
    # Pod Security's "restricted" forbids these.
    assert not {"hostPID", "hostNetwork", "hostIPC", "volumes"} & set(pod)
    assert security_of(container)["seccompProfile"] == {"type": "RuntimeDefault"}
    security = security_of(container)
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["runAsNonRoot"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert "privileged" not in security
    # All GPUs, and none taken from the scheduler.
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"} in container["env"]
    assert not any("nvidia.com/gpu" in kind for kind in container["resources"].values())


def test_what_more_it_may_be_given_in_the_daemon_set_is_one_comment_away() -> None:
    text = DAEMON_SET.read_text()
    pod = yaml.safe_load(text.replace("# hostPID: true", "hostPID: true"))["spec"]["template"]["spec"]
    assert pod["hostPID"] is True


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("gpu-owners.yml", {"pid": "host"}),
        ("gpu-kernel-log.yml", {"user": "0:0", "cap_add": ["SYSLOG"], "devices": ["/dev/kmsg:/dev/kmsg:r"]}),
    ],
)
def test_an_override_of_compose_gives_what_its_name_says_and_no_more(name: str, given: dict[str, Any]) -> None:
    assert yaml.safe_load((OVERRIDES / name).read_text()) == {"services": {"gpu-exporter": given}}
    assert f"`{name}`" in RUNNING.read_text()


def test_every_override_is_of_a_service_that_there_is() -> None:
    known = set(services())
    for file in OVERRIDES.glob("*.yml"):
        assert set(yaml.safe_load(file.read_text())["services"]) <= known

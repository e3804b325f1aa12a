"""The stack in containers, from its health checks to an alert at the receiver, in this order."""

import json
import time

import yaml
from commands import CHECKOUT, wait_until
from forward import forwarding
from stack_under_test import Stack

from exporters.gpu import metrics as gpu
from exporters.probe import metrics as probe

ENDED = {"grafana-password"}
PASSWORD = "/secret/grafana-admin-password"


def test_every_service_is_healthy(stack: Stack) -> None:
    for name, container in stack.containers().items():
        state = container["State"]
        if name in ENDED:
            assert (state["Status"], state["ExitCode"]) == ("exited", 0), name
        else:
            assert state["Status"] == "running", name
            assert state["Health"]["Status"] == "healthy", name


def test_containers_run_as_hardened_as_the_file_says(stack: Stack) -> None:
    for name, container in stack.containers().items():
        host = container["HostConfig"]
        assert host["ReadonlyRootfs"], name
        assert host["CapDrop"] == ["ALL"], name
        assert any(option.startswith("no-new-privileges") for option in host["SecurityOpt"]), name
        assert container["Config"]["User"].split(":")[0] not in ("", "0", "root"), name
        assert host["Memory"] > 0 and host["PidsLimit"] > 0, name
        bindings = [one for listed in (host["PortBindings"] or {}).values() for one in listed]
        assert all(one["HostIp"] == "127.0.0.1" for one in bindings), name


def test_the_password_is_made_once_and_printed_nowhere(stack: Stack) -> None:
    script = f"from pathlib import Path; p = Path('{PASSWORD}'); print(oct(p.stat().st_mode & 0o777), p.read_text())"
    mode, first = stack.compose("run", "--rm", "-T", "grafana-password", "python", "-c", script).split()
    stack.compose("run", "--rm", "-T", "grafana-password")
    _, second = stack.compose("run", "--rm", "-T", "grafana-password", "python", "-c", script).split()
    assert first == second
    assert len(first) >= 32
    assert mode == "0o400"
    assert first not in stack.compose("logs", "grafana-password")


def test_check_works_inside_the_network(stack: Stack) -> None:
    said = stack.compose("exec", "-T", "probe-exporter", "inferwatch", "check", "-c", "/config/inferwatch.yml")
    assert "demo" in said


def test_prometheus_holds_probes_engines_and_gpus(stack: Stack) -> None:
    began = time.monotonic()
    probed = f"sum by (target) ({probe.TTFT.name}_count) > 0"
    wait_until("probe", lambda: "demo" in stack.query(probed), 120)
    wait_until("engine", lambda: "demo" in stack.query('up{job="llm-engine"} == 1'), 60)
    wait_until(
        "simulated GPUs", lambda: stack.query(f"sum by (instance) ({gpu.UP.name})").get("demo-gpus:9810") == 4, 60
    )
    stack.figures["from healthy to probe, engine and GPU series"] = f"{time.monotonic() - began:.0f} s"


def test_an_edited_configuration_is_scraped_within_30_seconds(stack: Stack) -> None:
    file = stack.config / "inferwatch.yml"
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    # The same server by its address, as one address may be listed once only.
    networks = stack.containers()["demo-server"]["NetworkSettings"]["Networks"]
    origin = f"http://{next(iter(networks.values()))['IPAddress']}:8080"
    data["targets"].append({"name": "second", "url": f"{origin}/v1", "metrics": [f"{origin}/metrics"]})
    draft = file.with_suffix(".new")
    draft.write_text(yaml.safe_dump(data), encoding="utf-8")
    # As an editor saves: a new file under the old name.
    draft.replace(file)
    took = wait_until("second target", lambda: "second" in stack.query('up{job="llm-engine"} == 1'), 45)
    stack.figures["from editing the file to the new target scraped"] = f"{took:.0f} s"
    assert took < 30


def test_figures_of_the_running_stack(stack: Stack) -> None:
    stack.figures["series"] = f"{sum(stack.query('prometheus_tsdb_head_series').values()):.0f}"
    names = {one["Id"]: name for name, one in stack.containers().items() if one["State"]["Running"]}
    listed = stack.docker("stats", "--no-stream", "--no-trunc", "--format", "{{json .}}", *names)
    used = {names[one["ID"]]: one["MemUsage"].split(" / ") for one in map(json.loads, listed.splitlines())}
    assert set(used) == set(names.values())
    for name, (memory, limit) in sorted(used.items()):
        stack.figures[f"memory of {name}"] = f"{memory} of {limit}"


def test_a_stopped_model_server_reaches_the_receiver(stack: Stack) -> None:
    stack.compose("stop", "demo-server")
    wanted = {"TargetDown", "ProbeFailing"}
    took = wait_until("an alert at the receiver", lambda: wanted & stack.notified(), 300)
    stack.figures["from stopping the model server to the alert at the receiver"] = f"{took:.0f} s"


def test_a_server_on_the_host_is_watched_without_editing_anything(stack: Stack) -> None:
    stack.compose("start", "demo-server")
    networks = stack.containers()["demo-server"]["NetworkSettings"]["Networks"]
    server = (next(iter(networks.values()))["IPAddress"], 8080)
    # What host.docker.internal stands for; other machines do not reach it.
    bridge = stack.docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}").strip()
    with forwarding(bridge, server) as port:
        url = f"http://host.docker.internal:{port}/v1"
        stack.env |= {"INFERWATCH_TARGET_URL": url, "INFERWATCH_CONFIG_DIR": str(CHECKOUT / "config")}
        began = time.monotonic()
        stack.compose("up", "--detach", "--no-build", "--wait", "probe-exporter")
        wait_until("the engine", lambda: "default" in stack.query('up{job="llm-engine"} == 1'), 60)
        took = time.monotonic() - began
        probed = f'{probe.REQUESTS.name}{{outcome="success"}} > 0'
        wait_until("a probe", lambda: "default" in stack.query(probed), 120)
    stack.figures["from INFERWATCH_TARGET_URL to the server on the host scraped"] = f"{took:.0f} s"


def test_down_leaves_nothing(stack: Stack) -> None:
    stack.compose("--profile", "*", "down", "--volumes", "--timeout", "15")
    label = f"label=com.docker.compose.project={stack.project}"
    for kind in (("ps", "--all"), ("volume", "ls"), ("network", "ls")):
        assert stack.docker(*kind, "--quiet", "--filter", label) == "", kind

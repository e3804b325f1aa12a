"""The real docker-compose.yml, brought up under a name of its own with nothing changed but image names."""

import json
import os
import shutil
import socket
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import standins
import yaml
from commands import CHECKOUT, CommandError, run

TAG = "inferwatch-ci"
IMAGES = {name: f"{TAG}/{name}:local" for name in ("python", "prometheus", "alertmanager", "inferwatch", "demo")}
PORTS = ("START_PAGE", "GRAFANA", "PROMETHEUS", "ALERTMANAGER")
DEMO = CHECKOUT / "deploy" / "demo"


@dataclass
class Stack:
    """The running project.

    Attributes:
        env: What every docker command is given: the engine, the plugins, and the settings of .env.
        project: The name that containers, volumes and networks carry.
        config: The folder that is mounted as /config, a copy of the demo's.
        ports: Port on loopback by the name of its variable.
        figures: What was measured, for the summary.
    """

    env: dict[str, str]
    project: str
    override: Path
    config: Path
    ports: Mapping[str, int]
    figures: dict[str, str] = field(default_factory=dict)

    def docker(self, *words: str | Path, seconds: float = 300.0) -> str:
        """Run a docker command."""
        return run("docker", *words, env=self.env, seconds=seconds)

    def compose(self, *words: str, seconds: float = 300.0) -> str:
        """Run a docker compose command on the project."""
        files = ("--file", CHECKOUT / "docker-compose.yml", "--file", self.override)
        return self.docker("compose", "--project-name", self.project, *files, *words, seconds=seconds)

    def containers(self) -> dict[str, dict[str, Any]]:
        """Return what the engine knows of each container, ended ones too, by the name of its service."""
        names = self.docker("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.project={self.project}")
        found = json.loads(self.docker("inspect", *names.split()))
        return {one["Config"]["Labels"]["com.docker.compose.service"]: one for one in found}

    def query(self, expression: str) -> dict[str, float]:
        """Return value by target, else by instance, of an instant query; nothing while Prometheus does not answer."""
        url = f"http://127.0.0.1:{self.ports['PROMETHEUS']}/api/v1/query?" + urllib.parse.urlencode(
            {"query": expression}
        )
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                result = json.load(answer)["data"]["result"]
        except (OSError, urllib.error.URLError):
            return {}
        return {
            one["metric"].get("target", one["metric"].get("instance", "")): float(one["value"][1]) for one in result
        }

    def notified(self) -> set[str]:
        """Return the alerts that the start page was told of and that fire."""
        text = self.compose("exec", "-T", "start-page", "sh", "-c", "cat /state/notifications.jsonl || true")
        return set(_firing([json.loads(line) for line in text.splitlines() if line.strip()]))


def _firing(value: Any) -> Iterator[str]:
    """Yield the alert names in Alertmanager's payload, however it is wrapped."""
    if isinstance(value, list):
        for inner in value:
            yield from _firing(inner)
    elif isinstance(value, dict):
        labels = value.get("labels")
        if isinstance(labels, dict) and "alertname" in labels and value.get("status") == "firing":
            yield labels["alertname"]
        for inner in value.values():
            yield from _firing(inner)


@contextmanager
def project(address: str) -> Iterator[Stack]:
    """Make the images and the settings; yield the project, not yet up; take all of it away afterwards."""
    with tempfile.TemporaryDirectory(prefix="inferwatch-compose-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        stack = _stack(address, folder)
        try:
            _make_images(stack)
            yield stack
        finally:
            _take_down(stack)


def bring_up(stack: Stack) -> None:
    """Start the project and wait for every health check.

    Raises:
        CommandError: If one does not pass in time, with what the containers said last.
    """
    began = time.monotonic()
    try:
        stack.compose("up", "--detach", "--no-build", "--wait", "--wait-timeout", "240", seconds=300)
    except CommandError as error:
        raise CommandError(f"{error}\n{stack.compose('logs', '--tail', '30')}") from None
    stack.figures["from up to every health check"] = f"{time.monotonic() - began:.0f} s"


def _stack(address: str, folder: Path) -> Stack:
    config = folder / "config"
    shutil.copytree(DEMO, config)
    config.chmod(0o755)
    plugins = folder / "docker" / "cli-plugins"
    shutil.copytree(standins.plugins(), plugins)
    override = folder / "override.yml"
    override.write_text(yaml.safe_dump(_override()), encoding="utf-8")
    ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
    env = {
        "DOCKER_HOST": address,
        "DOCKER_CONFIG": str(folder / "docker"),
        "COMPOSE_PROFILES": "demo",
        "INFERWATCH_CONFIG_DIR": str(config),
        **{f"INFERWATCH_{name}_PORT": str(port) for name, port in ports.items()},
    }
    return Stack(env, f"{TAG}-{os.getpid()}", override, config, ports)


def _override() -> dict[str, Any]:
    """Return image names that can be had here; Grafana's cannot, so it is left out."""
    services: dict[str, Any] = {"grafana": {"scale": 0, "pull_policy": "never"}}
    declared = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    for name, service in declared.items():
        image = service["image"].split(":")[0].split("/")[-1].removeprefix("inferwatch-")
        if image in IMAGES:
            services[name] = {"image": IMAGES[image]}
        if "build" in service:
            services[name]["build"] = {"args": {"PYTHON_IMAGE": IMAGES["python"]}}
    return {"services": services}


def _make_images(stack: Stack) -> None:
    began = time.monotonic()
    standins.make_python(stack.docker, IMAGES["python"])
    standins.make_prometheus(stack.docker, IMAGES["prometheus"])
    standins.make_alertmanager(stack.docker, IMAGES["alertmanager"])
    stack.figures["stand-ins made in"] = f"{time.monotonic() - began:.0f} s"
    began = time.monotonic()
    stack.compose("build", "--quiet", seconds=900)
    stack.figures["image and demo image built in"] = f"{time.monotonic() - began:.0f} s"
    sizes = {name: int(stack.docker("image", "inspect", "--format", "{{.Size}}", tag)) for name, tag in IMAGES.items()}
    own = sizes["inferwatch"] - sizes["python"]
    stack.figures["image"] = f"{sizes['inferwatch'] / 1e6:.0f} MB, of which {own / 1e6:.0f} MB are ours"
    stack.figures["demo image"] = f"{sizes['demo'] / 1e6:.0f} MB"


def _take_down(stack: Stack) -> None:
    stack.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "15")
    made = stack.docker("image", "ls", "--quiet", "--filter", f"reference={TAG}/*").split()
    for image in dict.fromkeys(made):
        try:
            stack.docker("image", "rm", "--force", image)
        except CommandError as error:
            print(error)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()

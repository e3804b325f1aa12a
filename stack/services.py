"""The processes that make up the stack: how each is started and how it is known to work."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stack.gpus import Gpus
from stack.ports import HOST
from stack.supervisor import Service
from stack.tools import assets

# The port of each service, by its name, and the address that others know it by in the container network.
DEFAULT_PORTS = {"page": 9812, "prometheus": 9090, "alertmanager": 9093, "probe-exporter": 9811, "gpu-exporter": 9810}
CONTAINER_ADDRESSES = {
    "page": "start-page:9812",
    # Prometheus scrapes itself.
    "prometheus": "localhost:9090",
    "alertmanager": "alertmanager:9093",
    "probe-exporter": "probe-exporter:9811",
    "gpu-exporter": "gpu-exporter:9810",
}
# Services of the container network that never run here.
NEVER_HERE = frozenset({"grafana:3000"})


@dataclass(frozen=True)
class Place:
    """Where one run keeps its files and listens.

    Attributes:
        run_dir: An existing folder.
        ports: Port by the name of the service.
    """

    run_dir: Path
    ports: Mapping[str, int]

    def url(self, name: str, path: str = "") -> str:
        """Return a service's address on loopback."""
        return f"http://{HOST}:{self.ports[name]}{path}"

    def listen(self, name: str) -> str:
        """Return what a service listens on."""
        return f"{HOST}:{self.ports[name]}"

    def file(self, name: str) -> Path:
        """Return a file or folder of this run."""
        return self.run_dir / name


def probe_exporter(place: Place, config: Path) -> Service:
    """Return the service that probes the targets and tells Prometheus where engines are."""
    state = place.file("probe-exporter")
    state.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "exporters.probe", f"--config.file={config}", f"--state.dir={state}"]
    return Service(
        "probe-exporter",
        "Probe exporter",
        [*command, f"--web.listen-address={place.listen('probe-exporter')}"],
        ready_url=place.url("probe-exporter", "/healthz"),
        public_url=place.url("probe-exporter"),
        note=f"sends the prompts of {config}",
    )


def gpu_exporter(place: Place, gpus: Gpus) -> Service:
    """Return the service that reads GPUs, or simulates them as told."""
    command = [sys.executable, "-m", "exporters.gpu", f"--web.listen-address={place.listen('gpu-exporter')}"]
    if gpus.simulated:
        control = place.file("gpus.yml")
        control.touch()
        command += [f"--simulate={gpus.count}", f"--simulate.control={control}"]
    return Service(
        "gpu-exporter",
        "GPU exporter (simulated GPUs)" if gpus.simulated else "GPU exporter",
        command,
        ready_url=place.url("gpu-exporter", "/healthz"),
        public_url=place.url("gpu-exporter"),
        note=gpus.sentence,
    )


def prometheus(place: Place, program: Path, config: Path, days: int, megabytes: int) -> Service:
    """Return Prometheus; samples older than `days`, or beyond `megabytes`, are dropped."""
    command = [
        str(program),
        f"--config.file={config}",
        f"--storage.tsdb.path={place.file('prometheus')}",
        f"--storage.tsdb.retention.time={days}d",
        f"--storage.tsdb.retention.size={megabytes}MB",
        f"--web.listen-address={place.listen('prometheus')}",
        f"--web.external-url={place.url('prometheus')}",
    ]
    # A Prometheus out of Debian's package looks for its pages in /usr/share, where nothing was installed.
    pages = assets(program, "web")
    if pages:
        command.append(f"--web.local-assets={pages}")
    return Service(
        "prometheus",
        "Prometheus",
        command,
        ready_url=place.url("prometheus", "/-/ready"),
        public_url=place.url("prometheus"),
        note="stores the series, evaluates rules and alerts",
    )


def alertmanager(place: Place, program: Path, config: Path) -> Service:
    """Return Alertmanager, alone and not looking for peers."""
    command = [
        str(program),
        f"--config.file={config}",
        f"--storage.path={place.file('alertmanager')}",
        f"--web.listen-address={place.listen('alertmanager')}",
        f"--web.external-url={place.url('alertmanager')}",
        "--cluster.listen-address=",
    ]
    files = assets(program, "alertmanager")
    if files:
        command.append(f"--web.ui-path={files / 'no-ui'}")
    return Service(
        "alertmanager",
        "Alertmanager",
        command,
        ready_url=place.url("alertmanager", "/-/ready"),
        public_url=place.url("alertmanager"),
        note="groups alerts and sends them on"
        + ("; Debian's package has no pages, the start page shows its alerts" if files else ""),
        # A copy out of Debian's package, see stack.tools, looks for its templates here.
        folder=files,
    )


def page(place: Place) -> Service:
    """Return the start page, which also receives Alertmanager's notifications and prints them."""
    command = [sys.executable, "-m", "stack.cli", "page", "--web.listen-address", place.listen("page")]
    command += ["--services.file", str(place.file("services.json"))]
    command += ["--notifications.file", str(place.file("notifications.jsonl"))]
    return Service(
        "page",
        "Start page",
        command,
        ready_url=place.url("page", "/healthz"),
        public_url=place.url("page"),
        note=f"receives notifications into {place.file('notifications.jsonl')}",
        speaks=True,
    )

"""Faults of the stack itself: restarts in an unlucky order, a broken configuration, a full disk under Prometheus."""

import dataclasses
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NoReturn

import pytest
import requests
import yaml
from e2e_api import Prometheus, Receiver, wait_for
from prometheus_client.parser import text_string_to_metric_families

from exporters.probe import metrics as probe_metrics
from stack import launch
from stack.gpus import Gpus
from stack.ports import free_ports
from stack.services import DEFAULT_PORTS, Place
from stack.supervisor import Service, Stopped, Supervisor

pytestmark = [pytest.mark.tool("prometheus", "alertmanager"), pytest.mark.timeout(600)]

DISK = "size=8m"


class _Engine(BaseHTTPRequestHandler):
    """An engine that has metrics and answers no request."""

    def do_GET(self) -> None:
        body = b"llamacpp:requests_processing 0\nllamacpp:requests_deferred 0\n" if self.path == "/metrics" else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the name that the base class looks for

    def log_message(self, *_: object) -> None:
        pass


@dataclasses.dataclass
class Stack:
    """Services that a test starts and stops one by one."""

    place: Place
    config: Path
    services: Mapping[str, Service]
    supervisor: Supervisor

    @property
    def prometheus(self) -> Prometheus:
        return Prometheus(self.place.url("prometheus"))

    def start(self, *names: str) -> None:
        for name in names:
            self.supervisor.start(self.services[name])
        self.supervisor.wait_ready()
        for name in names:
            assert self.supervisor.status[name].state == "up", self.supervisor.log_file(name).read_text()

    def probe_metric(self, name: str) -> float:
        """Read a metric from the probe exporter itself, summed over its series."""
        text = requests.get(self.place.url("probe-exporter", "/metrics"), timeout=30).text
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        return sum(sample.value for sample in samples if sample.name == name)


@contextmanager
def _stack(folder: Path, engine: str, tool: Callable[[str], Path]) -> Iterator[Stack]:
    place = Place(folder, dict(zip(DEFAULT_PORTS, free_ports(len(DEFAULT_PORTS)), strict=True)))
    config = folder / "config" / "inferwatch.yml"
    config.parent.mkdir()
    target = {"name": "a", "url": f"{engine}/v1", "model": "m", "engine": "llamacpp", "metrics": [f"{engine}/metrics"]}
    config.write_text(yaml.safe_dump({"defaults": {"interval": "15s", "timeout": "5s"}, "targets": [target]}))
    tools = {name: tool(name) for name in ("prometheus", "alertmanager")}
    prepared = launch.prepare(launch.Plan(place, config, Gpus(0, False, "none are needed here")), tools)
    supervisor = Supervisor(folder, Stopped(), lambda _: None)
    try:
        yield Stack(place, config, {service.name: service for service in prepared}, supervisor)
    finally:
        supervisor.stop_all()


@pytest.fixture(scope="module")
def engine() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Engine)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def full(
    tmp_path_factory: pytest.TempPathFactory, engine: str, tool: Callable[[str], Path]
) -> Iterator[tuple[Stack, float] | None]:
    """A stack whose Prometheus has no disk left, and since when; None where only root may mount a small disk."""
    folder = tmp_path_factory.mktemp("full")
    if subprocess.run(["unshare", "-Urm", "mount", "-t", "tmpfs", "none", str(folder)], check=False).returncode:
        yield None
        return
    with _stack(folder, engine, tool) as stack:
        data = stack.place.file("prometheus")
        on_small_disk = ["unshare", "-Urm", "sh", "-c", f'mount -t tmpfs -o {DISK} none "$0" && exec "$@"', str(data)]
        data.mkdir()
        service = stack.services["prometheus"]
        small = dataclasses.replace(service, command=[*on_small_disk, *service.command])
        running = dataclasses.replace(stack, services={**stack.services, "prometheus": small})
        running.start("page", "probe-exporter", "alertmanager", "prometheus")
        wait_for(lambda: running.prometheus.value('up{job="prometheus"}') == 1, "the first samples", 120)
        _fill(Path(f"/proc/{running.supervisor.status['prometheus'].pid}/root{data}"))
        yield running, time.monotonic()


def _fill(folder: Path) -> None:
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError as error:
            assert "No space left" in str(error)


@pytest.fixture(autouse=True, scope="module")
def _disk_fills_first(full: tuple[Stack, float] | None) -> None:
    """The alert about it takes minutes, in which the other tests run."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, engine: str, tool: Callable[[str], Path]) -> Iterator[Stack]:
    with _stack(tmp_path_factory.mktemp("restarts"), engine, tool) as running:
        yield running


UP = 'up{job="llm-engine",target="a"}'


def _scraped_since(stack: Stack, moment: float) -> bool:
    """Return whether Prometheus has scraped the engine with success after `moment`, in Unix time."""
    return bool(stack.prometheus.query(f"{UP} == 1 and timestamp({UP}) > {moment}"))


def test_the_last_good_configuration_stays_in_force(
    stack: Stack, record_property: Callable[[str, object], None]
) -> None:
    """The exporter goes, Prometheus restarts without it, and the exporter comes back to a broken file."""
    stack.start("probe-exporter", "prometheus")
    wait_for(lambda: _scraped_since(stack, 0), "the engine to be scraped", 120)

    stack.supervisor.stop("probe-exporter")
    wait_for(lambda: stack.prometheus.value("sum(prometheus_sd_http_failures_total)"), "discovery to fail", 120)
    failed = time.time()
    wait_for(lambda: _scraped_since(stack, failed), "the engine to be scraped though discovery does not answer", 60)

    stack.supervisor.stop("prometheus")
    stack.start("prometheus")
    stack.config.write_text("targets: [\n")
    stack.start("probe-exporter")
    began = time.time()
    assert stack.probe_metric(probe_metrics.CONFIG_RELOAD_SUCCESSFUL.name) == 0
    assert stack.probe_metric(probe_metrics.CONFIG_FROM_STATE.name) == 1
    log = stack.supervisor.log_file("probe-exporter").read_text()
    assert re.search(r"inferwatch\.yml:\d+: this is not YAML", log)
    discovered = requests.get(stack.place.url("probe-exporter", "/sd/engines"), timeout=30).json()
    assert [group["labels"]["target"] for group in discovered] == ["a"]
    wait_for(lambda: _scraped_since(stack, began), "the engine to be scraped again", 120)
    record_property("exporter back, on a broken file, to the engine scraped (s)", round(time.time() - began, 1))


@pytest.mark.tool("unshare")
def test_a_full_disk_is_told_and_the_rest_goes_on(
    full: tuple[Stack, float] | None,
    record_property: Callable[[str, object], None],
    skip: Callable[[str], NoReturn],
) -> None:
    if full is None:
        skip("needs unshare -Urm: users may not mount a small disk here (inside a chroot, for one)")
    stack, since = full
    receiver = Receiver(stack.place.file("notifications.jsonl"))
    wait_for(
        lambda: "no space left on device" in stack.supervisor.log_file("prometheus").read_text(),
        "the write to fail",
        60,
    )
    probes = stack.probe_metric(probe_metrics.STARTED.name)
    wait_for(lambda: receiver.has("PrometheusNotStoring", "firing"), "PrometheusNotStoring at the receiver", 500)
    record_property("full disk to PrometheusNotStoring at the receiver (s)", round(time.monotonic() - since, 1))
    stack.supervisor.check()
    assert {status.state for status in stack.supervisor.status.values()} == {"up"}
    wait_for(lambda: stack.probe_metric(probe_metrics.STARTED.name) > probes, "probing to go on", 120)

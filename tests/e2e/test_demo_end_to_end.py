"""The demo as a user starts it: real model, real Prometheus, faults that reach the receiver and clear.

The tests run in the order in which they stand here; later ones build on earlier ones. Most of the time is the rules'
own: a throttled GPU leaves the five minutes that are averaged only after five minutes.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
import yaml
from e2e_api import Prometheus, Receiver, wait_for

from dashboards.queries import panel_queries
from exporters.gpu import metrics as gpu_metrics
from exporters.probe import metrics as probe_metrics
from prometheus import vocabulary
from stack.demo import run
from stack.ports import free_ports

pytestmark = [pytest.mark.tool("prometheus", "alertmanager"), pytest.mark.timeout(900)]

SECOND = "second"
REACHABLE = "60s"


@dataclass
class Demo:
    """A demo that runs, and a second model server that only this test knows."""

    process: subprocess.Popen[bytes]
    run_dir: Path
    terminal: Path
    second_port: int
    second: subprocess.Popen[bytes] | None = None
    since: dict[str, float] = field(default_factory=dict)

    @property
    def services(self) -> dict[str, Any]:
        listed: dict[str, Any] = json.loads((self.run_dir / "services.json").read_text())
        return listed

    @property
    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = json.loads((self.run_dir / "status.json").read_text())
        return status

    @property
    def prometheus(self) -> Prometheus:
        return Prometheus(self.services["prometheus_url"])

    @property
    def receiver(self) -> Receiver:
        return Receiver(self.run_dir / "notifications.jsonl")

    def edit(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the configuration as an editor does: write a new file and rename it over the old one."""
        file = self.run_dir / "demo.yml"
        data = yaml.safe_load(file.read_text())
        change(data)
        fresh = file.with_suffix(".swp")
        fresh.write_text(yaml.safe_dump(data))
        fresh.replace(file)

    def throttle(self, reasons: list[str]) -> None:
        """Hold the clocks of simulated GPU 3 down, or let go."""
        (self.run_dir / "gpus.yml").write_text(yaml.safe_dump({3: {"throttle": reasons}} if reasons else {}))

    def start_second(self) -> None:
        """Start the second model server and wait until it answers."""
        self.second = subprocess.Popen(
            [sys.executable, "-m", "stack.demo.llm_server", f"--port={self.second_port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: _answers(f"http://127.0.0.1:{self.second_port}/health"), "the second server", 120)

    def stop_second(self) -> None:
        """Stop the second model server."""
        if self.second:
            self.second.terminate()
            self.second.wait(timeout=60)
            self.second = None

    def seconds_since(self, event: str) -> float:
        return time.monotonic() - self.since[event]

    def happened(self, event: str) -> None:
        self.since[event] = time.monotonic()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("demo")
    terminal = folder / "terminal.txt"
    began = time.monotonic()
    with terminal.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "stack.cli", "demo", "--free-ports", "--simulate=4", f"--run-dir={folder / 'run'}"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            # Its output must come line by line without help.
            env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        )
    running = Demo(process, folder / "run", terminal, free_ports(1)[0])
    try:
        wait_for(
            lambda: "ready after" in terminal.read_text() or process.poll() is not None, "the demo to be ready", 240
        )
        assert process.poll() is None, terminal.read_text()
        running.since["start"] = began
        yield running
    finally:
        running.stop_second()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=90)
        if request.session.testsfailed:
            print(terminal.read_text())  # noqa: T201 - pytest shows it beside the failure


def test_it_prints_one_address_that_answers(demo: Demo, record_property: Callable[[str, object], None]) -> None:
    ready = next(line for line in demo.terminal.read_text().splitlines() if line.startswith("ready after"))
    record_property("demo ready after (s)", float(ready.split()[2]))
    printed = [line.strip() for line in demo.terminal.read_text().splitlines() if line.startswith("    http")]
    assert len(printed) == 1
    page = requests.get(printed[0], timeout=30)
    assert page.status_code == 200
    assert "simulated" in page.text
    assert {status["state"] for status in demo.status.values()} == {"up"}
    # Begun here, since it takes the longest to clear.
    demo.throttle(["hw_thermal_slowdown"])
    demo.happened("throttle")


def test_an_added_target_is_scraped(demo: Demo, record_property: Callable[[str, object], None]) -> None:
    demo.start_second()

    def add(data: dict[str, Any]) -> None:
        first = data["targets"][0]
        # No probe can miss this one, however slow the machine: a probe ends after 30 s.
        first["slo"]["ttft"]["threshold"] = REACHABLE
        address = f"http://127.0.0.1:{demo.second_port}"
        data["targets"].append(
            first | {"name": SECOND, "url": f"{address}/v1", "metrics": [f"{address}/metrics"], "gpus": {"count": 1}}
        )

    demo.edit(add)
    demo.happened("edit")
    wait_for(
        lambda: demo.prometheus.value(f'up{{job="llm-engine",target="{SECOND}"}}') == 1, "the new target's scrape", 120
    )
    record_property("edit to the new target scraped (s)", round(demo.seconds_since("edit"), 1))


def test_prometheus_holds_what_the_demo_is_about(demo: Demo) -> None:
    for name in (
        vocabulary.quantile("ttft", "p50", "llm_probe"),
        vocabulary.quantile("tpot", "p99", "llm_probe"),
        vocabulary.REQUESTS_WAITING,
        vocabulary.BURN_PER_HOUR,
        vocabulary.GPU_UTILIZATION,
        vocabulary.GPU_THROTTLED,
        vocabulary.TARGET_GPU_THROTTLED,
        gpu_metrics.TEMPERATURE.name,
        probe_metrics.TARGET_INFO.name,
    ):
        wait_for(lambda name=name: demo.prometheus.query(name), name, 180)
    # Enough probes for a verdict about latency.
    wait_for(
        lambda: (
            (demo.prometheus.value(f'sum({probe_metrics.REQUESTS.name}{{target="demo",outcome="success"}})') or 0) >= 3
        ),
        "three successful probes",
        180,
    )


def test_faults_reach_the_receiver(demo: Demo, record_property: Callable[[str, object], None]) -> None:
    """Three at once: an SLO that nothing can meet, a server that is gone, and a GPU that has been throttled since."""
    demo.edit(lambda data: data["targets"][0]["slo"]["ttft"].update(threshold="1ms"))
    demo.happened("slo")
    demo.stop_second()
    demo.happened("stop")
    waiting: dict[str, tuple[str, Callable[[], bool]]] = {
        "TTFTHigh": ("slo", lambda: demo.receiver.has("TTFTHigh", "firing", target="demo")),
        "TargetDown": ("stop", lambda: demo.receiver.has("TargetDown", "firing", target=SECOND)),
        "GPUThrottling": ("throttle", lambda: demo.receiver.has("GPUThrottling", "firing", gpu="3")),
    }
    released = False

    def arrived() -> bool:
        nonlocal released
        # The verdict is about five minutes, so the fault may end once it is in there.
        if not released and demo.prometheus.query(f'{vocabulary.GPU_THROTTLED}{{gpu="3"}} > 0.15'):
            demo.throttle([])
            released = True
        for alert, (event, has) in list(waiting.items()):
            if has():
                record_property(f"{event} to {alert} at the receiver (s)", round(demo.seconds_since(event), 1))
                del waiting[alert]
        return not waiting

    wait_for(arrived, f"{', '.join(waiting)} at the receiver", 300)
    assert released
    assert not demo.receiver.has("TargetDown", "firing", target="demo")
    assert not demo.receiver.has("GPUThrottling", "firing", gpu="0")
    assert "TTFTHigh" in demo.terminal.read_text(), "the terminal shows notifications"
    demo.edit(lambda data: data["targets"][0]["slo"]["ttft"].update(threshold=REACHABLE))
    demo.start_second()


def test_the_users_cost_is_known(demo: Demo) -> None:
    (_, cost), *_ = wait_for(
        lambda: demo.prometheus.query(f'{vocabulary.COST_PER_MTOK_OUTPUT}{{target="demo"}}'), "the users' cost", 300
    )
    assert cost > 0
    assert demo.prometheus.value(f'{vocabulary.BURN_PER_HOUR}{{target="demo"}}') == 2 * run.PRICE_PER_GPU_HOUR


def test_every_panel_has_data(demo: Demo) -> None:
    empty = [query for query in panel_queries() if not query.may_be_empty]

    def all_filled() -> bool:
        empty[:] = [query for query in empty if not demo.prometheus.query(query.expr)]
        return not empty

    wait_for(all_filled, f"data of the panels {sorted({query.panel for query in empty})}", 240)


def test_faults_clear(demo: Demo) -> None:
    for alert, labels in (
        ("TTFTHigh", {"target": "demo"}),
        ("TargetDown", {"target": SECOND}),
        ("GPUThrottling", {"gpu": "3"}),
    ):
        wait_for(
            lambda alert=alert, labels=labels: demo.receiver.has(alert, "resolved", **labels), f"{alert} to clear", 420
        )
    assert all(status["state"] == "up" for status in demo.status.values())


def test_what_it_takes(demo: Demo, record_property: Callable[[str, object], None]) -> None:
    for name, status in demo.status.items():
        record_property(f"memory of {name} (MB)", round(psutil.Process(status["pid"]).memory_info().rss / 1e6))
    series = demo.prometheus.value("prometheus_tsdb_head_series")
    assert series
    record_property("series in Prometheus", int(series))


def test_a_dead_child_is_named_and_the_rest_ends_on_ctrl_c(demo: Demo) -> None:
    pids = [status["pid"] for status in demo.status.values()]
    os.kill(demo.status[run.SERVER]["pid"], signal.SIGKILL)
    wait_for(lambda: demo.status[run.SERVER]["state"] == "ended", "the status file to say so", 60)
    assert "Model server (llama.cpp) was ended by SIGKILL" in demo.terminal.read_text()
    (address,) = [service["public_url"] for service in demo.services["services"] if service["name"] == "page"]
    wait_for(lambda: "SIGKILL" in requests.get(address, timeout=30).text, "the page to say so", 60)
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(timeout=90) == 1
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False

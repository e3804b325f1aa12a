"""A small stand-in for Prometheus's and Alertmanager's HTTP API, and samples as the page's sources name them."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from exporters.gpu import metrics as gpu
from exporters.probe import metrics as probe
from prometheus import vocabulary as words
from stack.page import targets
from stack.page.prometheus_api import Sample


@dataclass
class FakePrometheus:
    """What the API answers; `old` holds names whose last sample is too old to be fresh."""

    samples: list[Sample] = field(default_factory=list)
    failures: list[Sample] = field(default_factory=list)
    lately: list[Sample] = field(default_factory=list)
    alerts: list[dict[str, Any]] = field(default_factory=list)
    held: list[dict[str, Any]] = field(default_factory=list)
    old: set[str] = field(default_factory=set)
    url: str = ""

    def answer(self, path: str, query: str) -> object:
        if path == "/api/v1/alerts":
            return {"status": "success", "data": {"alerts": self.alerts}}
        if path == "/api/v2/alerts":
            return self.held
        if path != "/api/v1/query":
            return {"status": "error", "error": "no such path"}
        if query.endswith("]") and query.startswith("{"):
            fresh = [one for one in self.samples if one.name not in self.old]
            return self._data(
                [{"metric": self._metric(one), "values": [[time.time(), str(one.value)]]} for one in fresh]
            )
        samples = {targets.FAILURES: self.failures, targets.KNOWN_LATELY: self.lately}.get(query, self.samples)
        return self._data([{"metric": self._metric(one), "value": [time.time(), str(one.value)]} for one in samples])

    @staticmethod
    def _metric(one: Sample) -> dict[str, str]:
        return {"__name__": one.name, **one.labels}

    @staticmethod
    def _data(result: list[dict[str, Any]]) -> object:
        return {"status": "success", "data": {"resultType": "vector", "result": result}}


@contextmanager
def serving(fake: FakePrometheus) -> Iterator[FakePrometheus]:
    """Serve the fake on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = parse_qs(parts.query).get("query", [""])[0]
            body = json.dumps(fake.answer(parts.path, query)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        fake.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()


def sample(name: object, value: float, /, **labels: str) -> Sample:
    return Sample(str(name), labels, value)


def target_samples(
    target: str, *, success: bool = True, ended_ago: float = 12.0, scenario: str = "short"
) -> list[Sample]:
    """Return what a probe exporter exposes of a target whose last probe ended so long ago."""
    labels = {
        "target": target,
        "scenario": scenario,
        "model_name": "m",
        "instance": "probe-exporter:9811",
        "job": "probe",
    }
    samples = [
        sample(probe.TARGET_INFO, 1, target=target, url="http://x/v1", api="openai-chat", engine="auto"),
        sample(probe.LAST_SUCCESS, float(success), **labels),
        sample(probe.LAST_RUN_TIMESTAMP, time.time() - ended_ago, **labels),
        sample(probe.INTERVAL, 60, **labels),
    ]
    if success:
        samples += [sample(probe.LAST_TTFT, 0.412, **labels), sample(probe.LAST_TPOT, 0.0184, **labels)]
    return samples


def engine_samples(target: str, *, cost: float | None = 3.42) -> list[Sample]:
    """Return what rules record of a busy engine."""
    labels = {"target": target, "model_name": "m", "instance": "10.0.0.7:8000"}
    samples = [
        sample(words.quantile("ttft", "p95"), 0.87, target=target, model_name="m"),
        sample(words.quantile("tpot", "p95"), 0.031, target=target, model_name="m"),
        sample(words.REQUESTS_WAITING, 3, **labels),
        sample(words.OUTPUT_TOKENS_RATE, 1234.5, **labels),
        sample(probe.TARGET_COST_PER_HOUR, 5, target=target, currency="USD", basis="gpu_hour"),
        sample(targets.UP, 1, job=targets.ENGINE_JOB, target=target, instance="10.0.0.7:8000"),
    ]
    if cost is not None:
        samples.append(sample(words.COST_PER_MTOK_OUTPUT, cost, target=target, currency="USD"))
    return samples


def gpu_samples(index: str, *, node: str = "gpu-01", hot: bool = False) -> list[Sample]:
    """Return what a GPU exporter and the rules say of one GPU."""
    labels = {"node": node, "gpu": index, "uuid": f"GPU-{node}-{index}"}
    return [
        sample(gpu.UP, 1, **labels),
        sample(gpu.INFO, 1, name="NVIDIA H100 80GB HBM3", pci_bus_id="0", vbios_version="1", **labels),
        sample(words.GPU_UTILIZATION, 0.87, **labels),
        sample(words.GPU_MEMORY_USED, 0.913, **labels),
        sample(gpu.TEMPERATURE, 91 if hot else 64, **labels),
        sample(gpu.POWER_USAGE, 612.4, **labels),
        sample(gpu.CLOCKS_EVENT_ACTIVE, float(hot), reason="hw_thermal_slowdown", **labels),
        sample(gpu.CLOCKS_EVENT_ACTIVE, 1, reason="sw_power_cap", **labels),
        sample(words.GPU_THROTTLED, 0.34 if hot else 0.0, **labels),
    ]


def alert(name: str, severity: str = "page", state: str = "firing", **labels: str) -> dict[str, Any]:
    """Return an alert as Prometheus's API gives it."""
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - 720)) + ".123456789Z"
    return {
        "labels": {"alertname": name, "severity": severity, **labels},
        "annotations": {
            "summary": f"{name} says what is wrong",
            "description": "A longer text for the one who wants to know more.",
            "runbook_url": f"https://runbooks.example/{name}.md",
            "dashboard_url": "/d/overview?var-target=chat",
        },
        "state": state,
        "activeAt": since,
        "value": "1e+00",
    }


def free_address() -> str:
    """Return a loopback address whose port was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"

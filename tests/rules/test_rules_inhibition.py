"""What Alertmanager holds back, asked of a real one that reads the shipped configuration."""

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from alerting.catalogue import catalogue
from stack.tools import assets

ROOT = Path(__file__).resolve().parents[2]
ALERTS = {alert.name: alert for alerts in catalogue().values() for alert in alerts}
DEADLINE_SECONDS = 30

pytestmark = pytest.mark.tool("alertmanager")


class Alertmanager:
    """The HTTP interface of a running Alertmanager."""

    def __init__(self, url: str) -> None:
        self._url = url

    def call(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read() or b"null")

    def fire(self, *alerts: dict[str, str]) -> None:
        now = datetime.now(UTC)
        times = {"startsAt": now.isoformat(), "endsAt": (now + timedelta(hours=1)).isoformat()}
        self.call("/api/v2/alerts", [{"labels": labels, **times} for labels in alerts])

    def states(self) -> dict[tuple[str, str], str]:
        """Return "active" or "suppressed" by the alert's name and its target or node."""
        alerts = self.call("/api/v2/alerts")
        return {
            (item["labels"]["alertname"], item["labels"].get("target") or item["labels"].get("node", "")): item[
                "status"
            ]["state"]
            for item in alerts
        }


def wait_for(condition: Callable[[], bool], what: Callable[[], str]) -> None:
    until = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < until, what()
        time.sleep(0.1)


@pytest.fixture
def alertmanager(tool: Callable[[str], Path], free_port: int, tmp_path: Path) -> Iterator[Alertmanager]:
    text = (ROOT / "alerting" / "alertmanager.yml").read_text()
    file = tmp_path / "alertmanager.yml"
    # Nobody listens there in this test, and nothing leaves the machine.
    file.write_text(text.replace("http://start-page:9812", "http://127.0.0.1:1"))
    program = tool("alertmanager")
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                program,
                f"--config.file={file}",
                f"--storage.path={tmp_path / 'data'}",
                f"--web.listen-address=127.0.0.1:{free_port}",
                "--cluster.listen-address=",
            ],
            cwd=assets(program, "alertmanager") or tmp_path,
            stdout=log,
            stderr=log,
        )
    try:
        running = Alertmanager(f"http://127.0.0.1:{free_port}")

        def ready() -> bool:
            assert process.poll() is None, (tmp_path / "log").read_text()
            try:
                running.call("/api/v2/status")
            except (urllib.error.URLError, OSError):
                return False
            return True

        wait_for(ready, lambda: "Alertmanager does not answer")
        yield running
    finally:
        process.terminate()
        process.wait(30)


def labels(name: str, **others: str) -> dict[str, str]:
    return {"alertname": name, "severity": ALERTS[name].severity, "family": ALERTS[name].family, **others}


def holds_back(alertmanager: Alertmanager, expected: set[tuple[str, str]], *alerts: dict[str, str]) -> None:
    """Fire the alerts and wait until exactly the expected ones are suppressed."""
    alertmanager.fire(*alerts)

    def as_expected() -> bool:
        states = alertmanager.states()
        return (
            len(states) == len(alerts) and {key for key, state in states.items() if state == "suppressed"} == expected
        )

    wait_for(as_expected, lambda: f"expected {sorted(expected)} to be suppressed: {alertmanager.states()}")


def test_a_target_that_is_down_is_one_problem_and_others_stay_loud(alertmanager: Alertmanager):
    quiet = [
        "ProbeFailing",
        "ProbeStale",
        "TTFTHigh",
        "TPOTHigh",
        "LatencyRegression",
        "QueueDepthHigh",
        "EngineTargetsGone",
    ]
    holds_back(
        alertmanager,
        {(name, "chat") for name in quiet},
        labels("TargetDown", target="chat"),
        *(labels(name, target="chat") for name in quiet),
        *(labels(name, target="other") for name in ("TTFTHigh", "QueueDepthHigh", "EngineTargetsGone")),
        labels("CostPerMillionTokensHigh", target="chat", currency="USD"),
        labels("GPUThrottling", node="n", gpu="0"),
    )


def test_a_page_speaks_for_tickets_of_its_family_at_its_target_only(alertmanager: Alertmanager):
    holds_back(
        alertmanager,
        {("LatencyRegression", "chat")},
        labels("TTFTHigh", target="chat"),
        labels("LatencyRegression", target="chat"),
        labels("LatencyRegression", target="other"),
        labels("QueueDepthHigh", target="chat"),
    )


def test_throttling_speaks_for_its_regression_on_the_same_gpu(alertmanager: Alertmanager):
    holds_back(
        alertmanager,
        {("ThrottlingRegression", "a")},
        labels("GPUThrottling", node="a", gpu="0"),
        labels("ThrottlingRegression", node="a", gpu="0"),
        labels("ThrottlingRegression", node="b", gpu="0"),
    )


def test_blind_monitoring_speaks_for_what_its_blindness_causes_and_for_no_target(alertmanager: Alertmanager):
    holds_back(
        alertmanager,
        {("ExporterDown", "")},
        labels("PrometheusNotStoring", job="prometheus"),
        labels("ExporterDown", job="probe"),
        labels("Watchdog"),
        labels("TargetDown", target="chat"),
    )

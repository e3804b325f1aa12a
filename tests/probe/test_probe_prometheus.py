"""A real Prometheus scrapes the probe exporter in OpenMetrics; what it stores goes on across a reload."""

import json
import re
import subprocess
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from hostile import HostileServer
from probe_helpers import until

from exporters.probe.exporter import ProbeExporter
from exporters.probe.series.rendered import RenderedMetrics

WILD = 'quote " back\\slash line\nend, ünï'
STARTED = 'llm_probe_started_total{target="%s"}'


@pytest.fixture
def formats(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The content types that were served."""
    served: set[str] = set()
    answer = RenderedMetrics.__call__

    def noted(self: RenderedMetrics, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        def start(status: str, headers: list[tuple[str, str]]) -> Any:
            served.add(dict(headers)["Content-Type"].split(";")[0])
            return start_response(status, headers)

        return answer(self, environ, start)

    monkeypatch.setattr(RenderedMetrics, "__call__", noted)
    return served


@pytest.fixture
def exporter(tmp_path: Path, hostile: HostileServer) -> Iterator[ProbeExporter]:
    write(tmp_path, hostile, "one", "two")
    running = ProbeExporter(tmp_path / "inferwatch.yml", tmp_path / "state", "127.0.0.1:0")
    running.start()
    yield running
    running.stop()


def write(folder: Path, hostile: HostileServer, *names: str) -> None:
    more = {"url": hostile.url("good"), "model": WILD, "labels": {"team": WILD}, "interval": "1s"}
    more |= {"slo": {"ttft": {"threshold": "2s"}}, "cost": {"per_hour": 2}}
    text = json.dumps({"prober": {"max_lag": "1m"}, "targets": [{"name": name, **more} for name in names]})
    (folder / "inferwatch.yml").write_text(text)


class Prometheus:
    """One that scrapes an address each second."""

    def __init__(self, url: str) -> None:
        self.url = url

    def api(self, path: str, **query: str) -> Any:
        try:
            answer = requests.get(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=30)
        except requests.ConnectionError:
            return None
        return answer.json()["data"] if answer.ok else None

    def value(self, expression: str) -> float | None:
        found = self.api("query", query=expression)
        return float(found["result"][0]["value"][1]) if found and found["result"] else None


def documented(address: str) -> dict[str, Any]:
    """Return the job that docs/probe-exporter.md has for /probe, for the targets and the address of this test."""
    page = (Path(__file__).parents[2] / "docs" / "probe-exporter.md").read_text()
    (block,) = re.findall(r"```yaml\n(- job_name: probe-on-request\n.*?)```", page, re.DOTALL)
    (job,) = yaml.safe_load(block.replace("127.0.0.1:9811", address).replace("[chat, remote-api]", "[one, none]"))
    return job | {"scrape_interval": "1s", "scrape_timeout": "1s"}


@pytest.fixture
def prometheus(
    exporter: ProbeExporter, tmp_path: Path, tool: Callable[[str], Path], free_port: int
) -> Iterator[Prometheus]:
    jobs = [{"job_name": "probe", "static_configs": [{"targets": [exporter.address]}]}, documented(exporter.address)]
    (tmp_path / "prometheus.yml").write_text(json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs}))
    command = [
        str(tool("prometheus")),
        f"--config.file={tmp_path}/prometheus.yml",
        f"--storage.tsdb.path={tmp_path}/data",
        f"--web.listen-address=127.0.0.1:{free_port}",
    ]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        yield Prometheus(f"http://127.0.0.1:{free_port}")
        process.terminate()


def samples(exporter: ProbeExporter) -> int:
    text = requests.get(f"http://{exporter.address}/metrics", timeout=30).text
    return sum(not line.startswith("#") for line in text.splitlines())


@pytest.mark.tool("prometheus")
def test_openmetrics_is_read_and_counters_go_on(
    prometheus: Prometheus, exporter: ProbeExporter, formats: set[str], tmp_path: Path, hostile: HostileServer
) -> None:
    def at_least(target: str, started: float) -> Callable[[], bool]:
        return lambda: (prometheus.value(STARTED % target) or 0) >= started

    until(at_least("one", 2), "two probes are stored")
    assert formats == {"application/openmetrics-text"}
    assert prometheus.value('up{job="probe"}') == 1
    # Every sample of a scrape is stored: none was a duplicate, out of order or not to be read.
    stored = 'scrape_samples_post_metric_relabeling{job="probe"}'
    until(lambda: prometheus.value(stored) == samples(exporter), "as many samples are stored as are shown")
    assert prometheus.api("series", **{"match[]": "llm_target_info"})[0]["team"] == WILD
    kinds = {name: entry[0]["type"] for name, entry in prometheus.api("metadata").items() if name.startswith("llm_")}
    assert kinds["llm_probe_ttft_seconds"] == "histogram"
    assert set(kinds.values()) <= {"counter", "gauge", "histogram", "summary"}

    before = prometheus.value(STARTED % "one")
    assert before is not None
    write(tmp_path, hostile, "one", "three")
    assert exporter.keeper.reload() is None
    until(at_least("three", 1), "the new target is stored")
    until(lambda: prometheus.value(STARTED % "two") is None, "the deleted target is gone")
    until(at_least("one", before + 1), "the kept target goes on")
    assert prometheus.value(f"resets({STARTED % 'one'}[5m])") == 0


@pytest.mark.tool("prometheus")
def test_the_job_of_the_docs_probes_on_request(prometheus: Prometheus) -> None:
    until(lambda: prometheus.value('probe_success{target="one",job="probe-on-request"}') == 1, "a probe on request")
    assert prometheus.value('probe_llm_output_tokens{target="one"}') == 5
    # What is not configured is not probed, and the scrape fails.
    until(lambda: prometheus.value('up{target="none",job="probe-on-request"}') == 0, "a refusal")

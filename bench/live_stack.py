"""A live engine with our probe exporter and a Prometheus that has our rules, everything once a second."""

import re
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import yaml

from bench.processes import exporter, running
from bench.rules import api, wait_until_ready
from stack.ports import free_ports

ROOT = Path(__file__).resolve().parent.parent
TARGET = "live"
JOBS = ("llm-engine", "probe")
# How long figures may take to arrive that are there a second later on an idle machine.
PATIENCE_SECONDS = 120
START_SECONDS = 900


def wait_until_healthy(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Return once an engine's server says that it is well.

    Raises:
        RuntimeError: If the process ends, or takes too long.
    """
    give_up = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except OSError:
            if process.poll() is not None or time.monotonic() > give_up:
                end = log.read_text(errors="replace")[-3000:]
                raise RuntimeError(f"the engine at {address} is not ready:\n{end}") from None
        time.sleep(0.2)


@dataclass(frozen=True)
class Stack:
    """Where it answers."""

    prometheus: str

    def value(self, expr: str) -> float | None:
        """Return the only sample of a query, or None if there is none.

        Raises:
            RuntimeError: If there are several.
        """
        found = api(self.prometheus, f"query?query={quote(expr)}")["result"]
        if len(found) > 1:
            raise RuntimeError(f"{expr} has {len(found)} samples")
        return float(found[0]["value"][1]) if found else None

    def fresh(self, expr: str) -> float:
        """Return the value of an expression of one recorded series once that has been evaluated after this call."""
        (name,) = set(re.findall(r"[a-z_]+:[a-z0-9_:]+", expr))
        now = time.time()
        self.until(f"max(timestamp({name}))", lambda moment: moment > now)
        return self.until(expr, lambda _: True)

    def until(self, expr: str, right: Callable[[float], bool]) -> float:
        """Return a query's value once it is right.

        Raises:
            RuntimeError: If it never is.
        """
        give_up = time.monotonic() + PATIENCE_SECONDS
        while True:
            value = self.value(expr)
            if value is not None and right(value):
                return value
            if time.monotonic() > give_up:
                raise RuntimeError(f"{expr} is {value} even after {PATIENCE_SECONDS} s")
            time.sleep(0.2)


def configure(folder: Path, configuration: str) -> Path:
    """Write the probe exporter's file, which a running one reads again."""
    file = folder / "inferwatch.yml"
    file.with_suffix(".new").write_text(configuration)
    file.with_suffix(".new").replace(file)
    return file


def probes(engine: str, probed: str, model: str, scenarios: dict[str, dict[str, Any]]) -> str:
    """Return the probe exporter's configuration for the metrics of one engine and probes to an address, usually its.

    No probe is left out as tainted, since the engine leaves none out.
    """
    target = {"name": TARGET, "url": f"{probed}/v1", "model": model, "metrics": [f"{engine}/metrics"]}
    document = {"prober": {"max_lag": "10s"}, "targets": [target | {"scenarios": sorted(scenarios)}]}
    return yaml.safe_dump(document | {"scenarios": scenarios})


@contextmanager
def probing(folder: Path, configuration: str) -> Iterator[str]:
    """Run the probe exporter on a configuration and yield its address."""
    flags = (f"--config.file={configure(folder, configuration)}", f"--state.dir={folder / 'state'}")
    with exporter("exporters.probe", folder / "probe.log", *flags) as (_, url):
        yield url


@contextmanager
def recording(program: Path, folder: Path, exporter_url: str) -> Iterator[Stack]:
    """Run Prometheus with the shipped jobs: it scrapes the exporter, and the engine that the exporter tells it of."""
    rules = folder / "rules"
    rules.mkdir()
    for kind in ("prometheus", "alerting"):
        for file in (ROOT / kind / "rules").glob("*.yml"):
            _evaluate_each_second(file, rules / f"{kind}-{file.name}")
    shipped = (
        (ROOT / "prometheus" / "prometheus.yml")
        .read_text()
        .replace("probe-exporter:9811", urlsplit(exporter_url).netloc)
    )
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules/*.yml"],
        "scrape_configs": [job for job in yaml.safe_load(shipped)["scrape_configs"] if job["job_name"] in JOBS],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    (port,) = free_ports(1)
    command = [str(program), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    command.append(f"--web.listen-address=127.0.0.1:{port}")
    url = f"http://127.0.0.1:{port}"
    with (folder / "prometheus.log").open("wb") as log, running(command, stderr=log, stdout=log):
        wait_until_ready(url)
        yield Stack(url)


def _evaluate_each_second(file: Path, copy: Path) -> None:
    rules = yaml.safe_load(file.read_text())
    for group in rules["groups"]:
        group.pop("interval", None)
    copy.write_text(yaml.safe_dump(rules))

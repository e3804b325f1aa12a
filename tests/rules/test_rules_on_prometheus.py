"""A real Prometheus scrapes every capture, as prometheus.yml has it scraped, and evaluates every rule file.

A server serves each capture as one page in which every series has its whole course, with time stamps that begin twelve
minutes ago and end eight minutes from now. So rates rest on full windows after the first scrape, whenever a rule is
evaluated, and the test need not wait for time to pass.
"""

import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml
from engine_case import Case
from engine_cases import CASES
from engine_expectations import expectations
from rules_replay import FIXTURES, Replay, capture, from_zero, header, tolerance
from test_rules_engines import CAPTURES, engine_of, recorded

from prometheus.concepts import provided

pytestmark = pytest.mark.tool("prometheus")

ROOT = Path(__file__).resolve().parents[2]
BEGAN_SECONDS_AGO = 720
# The course is longer than this, so nothing depends on how fast the machine is.
DEADLINE = 240


def _docs_level() -> list[Path]:
    return [file for file in CAPTURES if header(file)["level"] == "docs"]


def _replays() -> dict[str, Replay]:
    replays = {case.name: case.replay() for case in CASES}
    for file in _docs_level():
        samples = capture(file.name)
        replays[file.stem] = Replay(from_zero(samples), samples, samples, {"target": file.stem})
    return replays


class _Prometheus:
    def __init__(self, url: str) -> None:
        self._url = url

    def query(self, expr: str) -> list[tuple[dict[str, str], float]]:
        text = urllib.parse.urlencode({"query": expr})
        with urllib.request.urlopen(f"{self._url}/api/v1/query?{text}", timeout=30) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return [
            ({name: value for name, value in one["metric"].items() if name != "__name__"}, float(one["value"][1]))
            for one in found
        ]

    def targets(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self._url}/api/v1/targets", timeout=30) as answer:
            targets: list[dict[str, Any]] = json.load(answer)["data"]["activeTargets"]
        return targets

    def rules(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self._url}/api/v1/rules", timeout=30) as answer:
            groups = json.load(answer)["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]


@pytest.fixture(scope="module")
def pages() -> Iterator[int]:
    """Serve each capture's page under its name, and return the port."""
    start = time.time() - BEGAN_SECONDS_AGO
    texts = {f"/{name}": replay.page(start).encode() for name, replay in _replays().items()}

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(texts[self.path])

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def _often(folder: Path) -> None:
    """Write the rule files so that every group is evaluated at Prometheus's own, short interval."""
    for file in (ROOT / "prometheus" / "rules").glob("*.yml"):
        rules = yaml.safe_load(file.read_text())
        for group in rules["groups"]:
            group.pop("interval", None)
        (folder / file.name).write_text(yaml.safe_dump(rules))


def _configuration(port: int) -> dict[str, Any]:
    jobs = yaml.safe_load((ROOT / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    (job,) = (job for job in jobs if job["job_name"] == "llm-engine")
    given = {case.name: case.given for case in CASES}
    return {
        "global": {"scrape_interval": "5s", "scrape_timeout": "5s", "evaluation_interval": "2s"},
        "rule_files": ["rules/*.yml"],
        "scrape_configs": [
            {
                "job_name": "llm-engine",
                "metric_relabel_configs": job["metric_relabel_configs"],
                "static_configs": [
                    {
                        "targets": [f"127.0.0.1:{port}"],
                        "labels": {"__metrics_path__": f"/{name}", "target": name, "instance": "host:1"}
                        | given.get(name, {}),
                    }
                    for name in _replays()
                ],
            }
        ],
    }


@pytest.fixture(scope="module")
def prometheus(pages: int, tool: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "rules").mkdir()
    _often(folder / "rules")
    (folder / "prometheus.yml").write_text(yaml.safe_dump(_configuration(pages)))
    log = folder / "log"
    command = [
        tool("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--web.listen-address=127.0.0.1:0",
    ]
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            yield _Prometheus(f"http://127.0.0.1:{_port(process, log)}")
        finally:
            process.terminate()


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """Return the port that Prometheus chose, once it answers there."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        text = log.read_text()
        if listening := re.search(r'msg="Listening on".* address=\S*:(\d+)', text):
            port = int(listening[1])
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5):
                    return port
            except (urllib.error.URLError, TimeoutError):
                pass
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def _differences(prometheus: _Prometheus, case: Case) -> list[str]:
    """Return what is not yet, or wrongly, recorded of a case."""
    wrong = []
    for expr, value, labels in expectations(case):
        # The course is shorter than an hour, so what an hour holds depends on when it is asked; promtool checks that.
        if ":increase1h" in expr:
            continue
        name, brace, rest = expr.partition("{")
        selector = f'{name}{{target="{case.name}"' + (f", {rest}" if brace else "}")
        found = prometheus.query(selector)
        if [one for one, _ in found] != [labels | {"target": case.name}]:
            wrong.append(f"{selector}: {found}, not {labels}")
        elif abs(found[0][1] - value) > tolerance(value):
            wrong.append(f"{selector}: {found[0][1]}, not {value}")
    return wrong


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_was_captured_is_recorded(prometheus: _Prometheus, case: Case):
    deadline = time.monotonic() + DEADLINE
    while wrong := _differences(prometheus, case):
        assert time.monotonic() < deadline, "\n".join(wrong)
        time.sleep(1)


@pytest.mark.parametrize("file", _docs_level(), ids=lambda file: file.stem)
def test_what_was_written_from_documentation_loads(prometheus: _Prometheus, file: Path):
    engine = engine_of(file)
    prefix = "llm" if engine.kind == "engine" else "llm_gateway"
    names = sorted(recorded(engine))
    if not provided(engine):
        # A worker passes on what the engine inside exports, and is recorded as that.
        names = ["requests_running"]
    any_of = f'{{__name__=~"{"|".join(f"{prefix}:{name}" for name in names)}", target="{file.stem}"}}'
    deadline = time.monotonic() + DEADLINE
    while not prometheus.query(any_of):
        assert time.monotonic() < deadline, any_of
        time.sleep(1)


def test_every_page_is_scraped_and_no_rule_fails(prometheus: _Prometheus):
    deadline = time.monotonic() + DEADLINE
    while [one for one in prometheus.targets() if one["health"] == "unknown"]:
        assert time.monotonic() < deadline
        time.sleep(1)
    assert {one["labels"]["target"]: one["lastError"] for one in prometheus.targets()} == dict.fromkeys(_replays(), "")
    assert {rule["name"]: rule["lastError"] for rule in prometheus.rules() if rule.get("lastError")} == {}


def test_a_gateways_requests_are_not_also_an_engines(prometheus: _Prometheus):
    for name in ("litellm-1.95.1", "dynamo-frontend-1.6.1", "production-stack", "inference-gateway"):
        deadline = time.monotonic() + DEADLINE
        while not prometheus.query(f'{{__name__=~"llm_gateway:.+", target="{name}"}}'):
            assert time.monotonic() < deadline
            time.sleep(1)
        assert prometheus.query(f'{{__name__=~"llm:.+", target="{name}"}}') == []


def test_every_capture_takes_part():
    used = {file for case in CASES for file in case.captures} | {file.name for file in _docs_level()}
    assert used == {file.name for file in CAPTURES}
    assert all((FIXTURES / file).is_file() for file in used)

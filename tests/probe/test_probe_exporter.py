"""The service as a process: what it serves, what an edit changes, and how it ends."""

import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
from hostile import HostileServer
from probe_helpers import until
from prometheus_client.parser import text_string_to_metric_families

from exporters.probe import exporter as exporter_module
from exporters.probe.exporter import ProbeExporter

LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")


class Service:
    """A `probe-exporter` of its own folder; `say` is what it has written to its log."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "inferwatch.yml"
        self.log = folder / "log"
        self.state = folder / "state"
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def write(self, *targets: str) -> None:
        """Replace the file as an editor does: the targets in flow style, one a line."""
        new = self.file.with_suffix(".new")
        # However busy the machine of this test is, its probes are not tainted.
        rest = "prober: {max_lag: 1m}\n"
        new.write_text("targets:\n" + "".join(f"- {{{target}}}\n" for target in targets) + rest)
        new.replace(self.file)

    def command(self, *more: str) -> list[str]:
        return [sys.executable, "-m", "exporters.probe", f"--config.file={self.file}", *more]

    def start(self) -> "Service":
        command = self.command(f"--state.dir={self.state}", "--web.listen-address=127.0.0.1:0")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.url = until(lambda: LISTENING.search(self.say()), "it listens").group(1)
        return self

    def say(self) -> str:
        return self.log.read_text()

    def end(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        """Return the exit code and how long it took to end."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(how)
        code = self.process.wait(60)
        return code, time.monotonic() - began

    def get(self, path: str) -> requests.Response:
        return requests.get(self.url + path, timeout=30)

    def metrics(self) -> dict[tuple[str, ...], float]:
        """Return values by series name and the values of the labels that tests look at."""
        shown = {}
        for family in text_string_to_metric_families(self.get("/metrics").text):
            for sample in family.samples:
                looked_at = (sample.labels.get(label, "") for label in ("target", "outcome"))
                shown[sample.name, *(value for value in looked_at if value)] = sample.value
        return shown


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    running = Service(tmp_path)
    yield running
    if running.process is not None and running.process.poll() is None:
        running.process.kill()
        running.process.wait(60)


def target(name: str, url: str, more: str = "") -> str:
    return f"name: {name}, url: '{url}', model: m" + (f", {more}" if more else "")


def test_it_probes_soon_and_shows_what_it_measured(service: Service, hostile: HostileServer) -> None:
    service.write(target("chat", hostile.url("good"), "cost: {per_hour: 3600}, labels: {team: search}, interval: 1d"))
    service.start()
    shown = until(lambda: (m := service.metrics()).get(("llm_probe_last_success", "chat")) and m, "a first probe")
    assert shown["llm_probe_started_total", "chat"] == 1
    assert shown["llm_probe_requests_total", "chat", "success"] == 1
    assert shown["llm_probe_requests_total", "chat", "truncated"] == 0
    assert shown["llm_probe_ttft_seconds_count", "chat"] == 1
    assert shown["llm_probe_output_tokens_total", "chat"] == 5
    assert shown["llm_targets_configured",] == 1
    assert shown["llm_probe_exporter_config_last_reload_successful",] == 1
    # A unit of money a second, so at least the time that the probe took.
    assert 0.2 < shown["llm_target_cost_total", "chat"] < 600
    assert 'team="search"' in service.get("/metrics").text
    assert (service.get("/healthz").status_code, service.get("/").status_code) == (200, 200)
    assert service.end() == (0, pytest.approx(0, abs=60))


def test_edits_add_and_remove_series_and_keep_counters(service: Service, hostile: HostileServer) -> None:
    # However slow this machine is, it is not due a second time.
    once = "interval: 1d"
    metrics_url = hostile.metrics_url("good")
    service.write(target("one", hostile.url("good"), once), target("two", hostile.url("no_usage")))
    service.start()
    until(lambda: service.metrics().get(("llm_probe_requests_total", "one", "success")), "a first probe")
    assert ("llm_probe_started_total", "two") in service.metrics()

    service.write(
        target("one", hostile.url("good"), once), target("three", hostile.url("good"), f"metrics: ['{metrics_url}']")
    )
    shown = until(lambda: (m := service.metrics()).get(("llm_probe_last_success", "three")) and m, "the new target")
    assert shown["llm_probe_requests_total", "one", "success"] == 1
    assert not [series for series in shown if "two" in series]
    (group,) = service.get("/sd/engines").json()
    assert group["labels"]["target"] == "three" and group["targets"] == [f"127.0.0.1:{hostile.port}"]


def test_a_broken_edit_keeps_the_old_and_a_restart_takes_the_copy(service: Service, hostile: HostileServer) -> None:
    service.write(target("chat", hostile.url("good"), f"metrics: ['{hostile.metrics_url('good')}']"))
    service.start()
    service.write("name: chat, url: nonsense")
    flag = ("llm_probe_exporter_config_last_reload_successful",)
    until(lambda: service.metrics()[flag] == 0, "the failed reload is shown")
    assert ("llm_probe_started_total", "chat") in service.metrics()
    assert "inferwatch.yml:2: targets[0].url: 'nonsense' is not a URL" in service.say()
    service.end()

    service.start()
    shown = service.metrics()
    assert (shown[flag], shown["llm_probe_exporter_config_from_state",]) == (0, 1)
    assert shown["llm_targets_configured",] == 1
    assert len(service.get("/sd/engines").json()) == 1
    until(lambda: service.metrics().get(("llm_probe_last_success", "chat")), "it is probed")


def test_without_a_configuration_it_serves_and_waits_for_the_file(service: Service, hostile: HostileServer) -> None:
    service.start()
    shown = service.metrics()
    assert shown["llm_probe_exporter_config_last_reload_successful",] == 0
    assert ("llm_targets_configured",) not in shown
    assert service.get("/sd/engines").status_code == 503 == service.get("/sd/gpus").status_code
    assert service.get("/healthz").status_code == 200
    service.write(target("chat", hostile.url("good")))
    until(lambda: service.metrics().get(("llm_targets_configured",)) == 1, "the file is read")
    assert service.get("/sd/engines").json() == []


def test_reload_on_request_and_on_sighup(service: Service, hostile: HostileServer) -> None:
    service.write(target("one", hostile.url("good")))
    service.start()
    service.file.write_text("targets: 7\n")
    refused = requests.post(service.url + "/-/reload", timeout=30)
    assert refused.status_code == 500 and refused.text.startswith("inferwatch.yml:1: targets:")
    assert service.get("/-/reload").status_code == 405
    service.write(target("two", hostile.url("good")))
    assert requests.post(service.url + "/-/reload", timeout=30).status_code == 200
    assert ("llm_probe_started_total", "two") in service.metrics()
    service.write(target("three", hostile.url("good")))
    assert service.process is not None
    service.process.send_signal(signal.SIGHUP)
    until(lambda: ("llm_probe_started_total", "three") in service.metrics(), "the reload on SIGHUP")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_while_a_probe_hangs(service: Service, hostile: HostileServer, how: signal.Signals) -> None:
    service.write(target("chat", hostile.url("silent"), "timeout: 60s"))
    service.start()
    until(lambda: service.metrics()["llm_probe_exporter_inflight",] == 1, "the probe hangs")
    code, seconds = service.end(how)
    assert code == 0
    # Far below the timeout of the probe.
    assert seconds < 20


def test_an_unreadable_secret_is_an_outcome_and_a_sentence(service: Service, hostile: HostileServer) -> None:
    service.write(target("chat", hostile.url("good"), "auth: {bearer_file: /nowhere/key}"))
    service.start()
    until(lambda: service.metrics().get(("llm_probe_requests_total", "chat", "auth")), "the outcome")
    assert "/nowhere/key: there is no such file" in service.say()


def test_config_check(service: Service) -> None:
    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run(service.command("--config.check"), capture_output=True, text=True, timeout=60)

    service.write(target("chat", "http://127.0.0.1:1/v1"))
    good = check()
    assert (good.returncode, good.stdout) == (0, f"{service.file} is valid; targets: 1\n")
    service.write("name: chat", "name: chat, url: 'http://h/v1', colour: red")
    bad = check()
    assert bad.returncode == 2
    assert "inferwatch.yml:3: targets[1].colour: unknown key" in bad.stderr
    service.file.unlink()
    assert check().returncode == 2


def test_a_taken_port_is_one_sentence(service: Service, hostile: HostileServer) -> None:
    command = service.command(f"--web.listen-address=127.0.0.1:{hostile.port}")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert f"cannot listen on 127.0.0.1:{hostile.port}" in ended.stderr and "Traceback" not in ended.stderr


def test_health_tells_when_the_scheduler_is_dead(
    tmp_path: Path, hostile: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter_module, "DEAD_AFTER_SECONDS", 2.0)
    (tmp_path / "inferwatch.yml").write_text(f"targets: [{{{target('chat', hostile.url('good'))}}}]\n")
    running = ProbeExporter(tmp_path / "inferwatch.yml", tmp_path, "127.0.0.1:0")
    running.start()
    try:
        health = f"http://{running.address}/healthz"
        until(lambda: requests.get(health, timeout=30).status_code == 200, "it is at work")
        running._schedule.stop()
        until(lambda: "nothing is probed; restart" in requests.get(health, timeout=30).text, "the trouble is told")
        assert requests.get(health, timeout=30).status_code == 503
    finally:
        running.stop()


def test_a_step_that_fails_is_told_once_and_stops_no_other(
    tmp_path: Path, hostile: HostileServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(exporter_module, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(exporter_module, "REFRESH_SECONDS", 0.05)
    file = tmp_path / "inferwatch.yml"
    file.write_text("targets: []\n")
    running = ProbeExporter(file, None, "127.0.0.1:0")
    turns = Counter[str]()

    def failing(name: str) -> Callable[..., None]:
        def fail(*_: object) -> None:
            turns[name] += 1
            # Another text each time is not another failure.
            raise UnicodeEncodeError("utf-8", "x", 0, turns[name], "surrogates not allowed")

        return fail

    for part, name in ((running._meter, "tick"), (running._rendered, "refresh"), (running._kinds, "refresh")):
        monkeypatch.setattr(part, name, failing(f"{type(part).__name__}.{name}"))
    versions = threading.Event()
    monkeypatch.setattr(running._versions, "refresh", lambda _: versions.set())
    running.start()
    try:
        assert versions.wait(60)
        file.write_text(f"targets: [{{{target('chat', hostile.url('good'))}}}]\n")
        until(lambda: running.keeper.config is not None and running.keeper.config.targets, "the edit is in force")
        until(lambda: len(turns) == 3 and min(turns.values()) >= 3, "every step had its turns")
        told = [record.getMessage() for record in caplog.records if record.name.endswith("steps")]
        assert sorted(line.partition(";")[0] for line in told) == [
            "inferwatch failed at adding up costs",
            "inferwatch failed at recognising engines",
            "inferwatch failed at rendering /metrics",
        ]
        monkeypatch.undo()
        until(lambda: "rendering /metrics works again" in caplog.text, "that it works again is told")
    finally:
        running.stop()


@pytest.mark.tool("promtool")
def test_promtool_has_no_complaint(service: Service, hostile: HostileServer, tool: Callable[[str], Path]) -> None:
    more = "cost: {per_gpu_hour: 2, alert_above_per_mtok: 5}, gpus: {indices: [0]}, slo: {ttft: {threshold: 2s}}"
    service.write(target("chat", hostile.url("good"), more))
    service.start()
    until(lambda: service.metrics().get(("llm_probe_last_success", "chat")), "a first probe")
    page = service.get("/metrics").content
    checked = subprocess.run([tool("promtool"), "check", "metrics"], input=page, capture_output=True, timeout=60)
    # The label says which quantile the objective is about; promtool wants that name for summaries alone.
    complaints = [
        line for line in checked.stderr.decode().splitlines() if not line.startswith("llm_target_slo_seconds")
    ]
    assert (checked.stdout, complaints) == (b"", [])


def test_openmetrics_and_gzip_are_negotiated(service: Service, hostile: HostileServer) -> None:
    service.write(target("chat", hostile.url("good")))
    service.start()
    headers = {"Accept": "application/openmetrics-text;version=1.0.0"}
    answer = requests.get(service.url + "/metrics", headers=headers, timeout=30)
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.text.endswith("# EOF\n")


def test_the_interpreter_is_tuned_for_short_pauses() -> None:
    code = "import gc, sys, exporters.probe.__main__ as m\ntry: m.main(['--version'])\nexcept SystemExit: pass\n"
    code += "print(sys.getswitchinterval(), gc.get_freeze_count() > 0)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ)
    assert ended.stdout.splitlines()[-1] == "0.0005 True"

"""The command itself, with simulated GPUs: flags, control file, faults at start, and its end."""

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_process import Exporter

from exporters.gpu import metrics

Start = Callable[..., Exporter]
QUICK = "--gpu.interval=100ms"


def run(*flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "exporters.gpu", *flags], capture_output=True, text=True, check=False, timeout=120
    )


def test_simulated_gpus_are_marked_everywhere(exporter: Start) -> None:
    running = exporter("--simulate", "2", QUICK)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    assert scrape.value(metrics.SIMULATED) == 1
    assert scrape.value(metrics.UP, 1, uuid="GPU-SIMULATED-1") == 1
    assert scrape.value(metrics.INFO, 1, name="Simulated H100 80GB") == 1
    assert 0 < (scrape.value(metrics.UTILIZATION, 0) or 0) < 1
    assert "every GPU of this exporter is simulated" in running.log


def test_a_part_of_the_page_is_found_by_name_whoever_tells_of_it(exporter: Start, tmp_path: Path) -> None:
    web = tmp_path / "web.yml"
    web.write_text("http_server_config: {http2: false}\n")
    running = exporter("--simulate=1", QUICK, f"--web.config.file={web}")
    running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    for name in (metrics.UP.name, metrics.WEB_CONFIG_RELOAD_SUCCESSFUL.name, "process_cpu_seconds_total"):
        with urllib.request.urlopen(f"{running.url}/metrics?name[]={name}", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        assert [re.split(r"[{ ]", line)[0] for line in lines if line[0] != "#"] == [name]


def test_the_control_file_steers_simulated_gpus(exporter: Start, tmp_path: Path) -> None:
    file = tmp_path / "control.yml"
    running = exporter("--simulate=2", f"--simulate.control={file}", QUICK)
    running.wait_for(lambda s: s.value(metrics.UP, 1) == 1)
    file.write_text("{0: {throttle: [hw_thermal_slowdown], temperature: 91}, 1: {lost: true}}")
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 1) == 0 and s.value(metrics.TEMPERATURE, 0) == 91)
    hot = {"gpu": 0, "reason": "hw_thermal_slowdown"}
    assert scrape.value(metrics.CLOCKS_EVENT_ACTIVE, **hot) == 1
    running.wait_for(lambda s: (s.value(metrics.CLOCKS_EVENT_SECONDS, **hot) or 0) > 0)
    running.wait_for(lambda s: (s.value(metrics.CLOCKS_EVENT_SAMPLED_SECONDS, **hot) or 0) > 0)
    file.write_text("{0: {throttle: [hw_thermal_slowdown]")
    scrape = running.wait_for(lambda _: "the last good orders stay in force" in running.log)
    assert scrape.value(metrics.TEMPERATURE, 0) == 91
    file.unlink()
    running.wait_for(lambda s: s.value(metrics.UP, 1) == 1 and s.value(metrics.CLOCKS_EVENT_ACTIVE, **hot) == 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_gracefully(exporter: Start, number: int) -> None:
    running = exporter("--simulate=1")
    assert running.stop(number) == 0
    assert "stopping" in running.log
    assert "Traceback" not in running.log


def test_without_nvml_it_stays_and_says_what_is_wrong(exporter: Start) -> None:
    running = exporter()
    scrape = running.wait_for(lambda s: s.value(metrics.NVML_INIT_ERROR_CODE) != 0)
    assert scrape.value(metrics.NVML_UP) == 0
    assert running.healthz() == 200
    assert "NVML cannot be used" in running.log
    assert running.stop() == 0


def test_a_port_that_is_taken_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        ended = run(f"--web.listen-address=127.0.0.1:{port}", "--simulate=1")
    assert ended.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        ("--simulate=0", "number of GPUs from 1 to 64"),
        ("--simulate=many", "number of GPUs from 1 to 64"),
        ("--gpu.interval=5", "is not a duration"),
        ("--gpu.sampler-hz=-1", "rate from 0 to 100"),
        ("--gpu.sampler-hz=nan", "rate from 0 to 100"),
        ("--collector.fortune", "unrecognized arguments"),
    ],
)
def test_a_wrong_flag_is_a_sentence(flag: str, says: str) -> None:
    ended = run(flag)
    assert ended.returncode == 2
    assert says in ended.stderr


def test_help_lists_every_collector() -> None:
    ended = run("--help")
    assert ended.returncode == 0
    for flag in ("--collector.utilization", "--no-collector.clock_event_counters", "--simulate.control"):
        assert flag in ended.stdout

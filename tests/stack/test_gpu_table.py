"""`inferwatch gpu`: the table, the JSON, and the command on a terminal, on simulated and fake GPUs."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from exporters.gpu import reasons
from exporters.gpu.control import ControlFile
from exporters.gpu.metrics import HARMFUL_REASONS
from exporters.gpu.report import GpuReport
from exporters.gpu.simulated import SimulatedDriver
from stack.gpu_table.rows import GpuRow, row
from stack.gpu_table.run import watch
from stack.gpu_table.table import table
from stack.gpu_table.words import WORDS, in_words
from stack.page.figures import UNKNOWN

SOURCE = Path(__file__).parents[1] / "fakenvml" / "fakenvml.c"
ORDERS = """\
0: {throttle: [hw_thermal_slowdown, hw_slowdown, sw_power_cap], temperature: 91}
1: {lost: true}
"""
GOLDEN = Path(__file__).with_name("gpu_table.txt").read_text()


def text(*rows: GpuRow, live: bool = False) -> str:
    out = io.StringIO()
    Console(file=out, width=100).print(table(list(rows), "580.126.09", live))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


@pytest.fixture
def driver(tmp_path: Path) -> SimulatedDriver:
    """Return three simulated GPUs at a fixed time of their load curve: one throttled, one lost, one healthy."""
    orders = tmp_path / "orders.yml"
    orders.write_text(ORDERS)
    return SimulatedDriver(3, ControlFile(orders), clock=lambda: 1000.0)


def watched(driver: SimulatedDriver, as_json: bool = False) -> tuple[int, str]:
    out = io.StringIO()
    code = watch(driver, Console(file=out, width=80), as_json=as_json)
    return code, out.getvalue()


def test_the_table_of_simulated_gpus(driver: SimulatedDriver) -> None:
    code, shown = watched(driver)
    assert "\n".join(line.rstrip() for line in shown.splitlines()) + "\n" == GOLDEN
    assert code == 1  # one is lost


def test_json_holds_the_same(driver: SimulatedDriver) -> None:
    code, shown = watched(driver, as_json=True)
    hot, lost, healthy = json.loads(shown)
    assert code == 1
    assert hot["throttle_reasons"] == ["sw_power_cap", "hw_slowdown", "hw_thermal_slowdown"]
    assert (hot["temperature_celsius"], hot["clock_sm_hertz"]) == (91, 1_089_000_000)
    assert (lost["up"], lost["utilization_ratio"], lost["memory_used_bytes"]) == (False, None, None)
    assert "(NVML code 15)" in lost["trouble"]
    assert (healthy["up"], healthy["trouble"], healthy["utilization_ratio"]) == (True, "", 0.54)
    assert all(one["simulated"] for one in (hot, lost, healthy))


def test_real_gpus_are_not_called_simulated() -> None:
    shown = text(GpuRow("0", "GPU-a", "NVIDIA L40S", simulated=False, up=True, utilization_ratio=0.5))
    assert shown.startswith("1 GPU: NVIDIA L40S, driver 580.126.09\n")
    assert "imulated" not in shown


def test_what_a_gpu_does_not_tell_is_a_dash_and_not_zero() -> None:
    shown = text(
        GpuRow("0", "GPU-a", "Known", simulated=False, up=True, power_usage_watts=70.0),
        GpuRow("1", "GPU-b", "Other", simulated=False, up=True),
    )
    first, second = (line.split() for line in shown.splitlines() if line.split()[:1] in (["0"], ["1"]))
    assert first == ["0", "Known", UNKNOWN, UNKNOWN, UNKNOWN, "70", "W", UNKNOWN]
    assert second == ["1", "Other", *[UNKNOWN] * 5]


def test_a_live_table_tells_what_passed_between_two_looks() -> None:
    shown = text(GpuRow("0", "GPU-a", "L40S", simulated=False, up=True, harmful_seconds=0.3), live=True)
    assert "slowed" in shown
    assert "300 ms" in shown
    assert "slowed" not in text(GpuRow("0", "GPU-a", "L40S", simulated=False, up=True, harmful_seconds=0.3))


def test_a_name_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in text(GpuRow("0", "GPU-a", "\x1b[2JL40S", simulated=False, up=True))


@pytest.mark.parametrize(
    ("report", "trouble"),
    [
        (GpuReport("0", "GPU-a", up=False, last_error_code=16), "it needs a reset (NVML code 16)"),
        (GpuReport("0", "GPU-a", up=False, last_error_code=999), "it cannot be read (NVML code 999)"),
        (GpuReport("0", "GPU-a", up=False), "it cannot be read"),
        (GpuReport("0", "GPU-a", up=False, stuck=True, last_error_code=15), "a call on it hangs inside the driver"),
        (GpuReport("0", "GPU-a", up=False, suspended=True), "it sleeps, and is not woken to be asked"),
    ],
)
def test_why_a_gpu_is_not_up(report: GpuReport, trouble: str) -> None:
    assert row(report, simulated=False).trouble == trouble


def test_every_reason_has_words() -> None:
    assert set(WORDS) == set(reasons.BITS)
    assert len(set(WORDS.values())) == len(WORDS)


def test_the_harmful_reasons_come_first() -> None:
    assert in_words(()) == ""
    assert in_words(("gpu_idle", "sw_thermal_slowdown")) == "too hot, slowed by the driver; idle"
    assert in_words(("hw_slowdown",)) == "slowed by the hardware"
    assert in_words(("a_new_reason",)) == "a new reason"
    for reason in HARMFUL_REASONS:
        assert GpuRow("0", "", "", simulated=False, up=True, throttle_reasons=(reason,)).harmed


# The command


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "stack.cli", "gpu", *arguments]


def run(*arguments: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=120, env=os.environ | (environ or {})
    )


def test_without_a_terminal_it_prints_once() -> None:
    done = run("--simulate", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2 simulated GPUs: ")
    assert done.stdout.count("clocks held down") == 1


def test_no_driver_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").touch()
    done = run(environ={"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("this machine has no NVIDIA driver (libnvidia-ml.so.1 is not installed)")
    assert done.stderr.count("\n") == 1


def test_orders_for_real_gpus_are_refused() -> None:
    done = run("--simulate.control", "orders.yml")
    assert done.returncode == 1
    assert "add --simulate N" in done.stderr


@pytest.fixture(scope="module")
def fake_nvml(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("nvml")
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-lpthread"], check=True)
    return {"LD_LIBRARY_PATH": str(folder), "FAKENVML_CONTROL": str(folder / "control")}


@pytest.mark.tool("gcc")
def test_real_pynvml_on_the_fake_library(fake_nvml: dict[str, str]) -> None:
    Path(fake_nvml["FAKENVML_CONTROL"]).write_text("gpus 2\n")
    done = run("--json", environ=fake_nvml)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [one["gpu"] for one in found] == ["0", "1"]
    assert all(one["up"] and not one["simulated"] and one["temperature_celsius"] is not None for one in found)


@pytest.mark.tool("gcc")
def test_a_driver_without_a_gpu_is_a_sentence(fake_nvml: dict[str, str]) -> None:
    Path(fake_nvml["FAKENVML_CONTROL"]).write_text("gpus 0\n")
    done = run(environ=fake_nvml)
    assert done.returncode == 1
    assert "sees no GPU" in done.stderr


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)


def test_on_a_terminal_it_goes_on_until_it_is_interrupted(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    environ = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    with subprocess.Popen(
        command("--simulate", "2"), stdin=theirs, stdout=theirs, stderr=theirs, env=environ
    ) as process:
        os.close(theirs)
        seen, give_up = b"", time.monotonic() + 60
        while seen.count(b"SM clock") < 3:
            assert time.monotonic() < give_up, seen
            seen += os.read(ours, 65536)
        process.send_signal(signal.SIGINT)
        try:
            while rest := os.read(ours, 65536):
                seen += rest
        except OSError:  # the other end of a terminal was closed
            pass
        assert process.wait(60) == 0
    assert b"slowed" in seen
    assert b"Traceback" not in seen

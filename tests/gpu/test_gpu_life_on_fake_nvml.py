"""Through the real pynvml: how GPUs and their driver come, go and are let go of."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_process import Exporter, FakeNvml
from gpu_sysfs import add_gpu

from exporters.gpu import metrics

pytestmark = pytest.mark.tool("gcc")

Start = Callable[..., Exporter]
QUICK = "--gpu.interval=200ms"


@pytest.mark.complaint(18)
def test_signals_release_and_take_the_gpus(exporter: Start, nvml: FakeNvml) -> None:
    running = exporter(QUICK, nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    running.send(signal.SIGUSR1)
    scrape = running.wait_for(lambda s: s.value(metrics.RELEASED) == 1)
    assert scrape.of_gpu(0) == set()
    assert nvml.calls("nvmlShutdown") == nvml.calls("nvmlEventSetFree") == 1
    running.send(signal.SIGUSR2)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    assert running.stop() == 0


@pytest.mark.complaint(5)
def test_an_upgraded_driver_ends_the_process_with_a_last_word(exporter: Start, nvml: FakeNvml) -> None:
    running = exporter(QUICK, nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    nvml.tell(init=18, _0__all=18, _1__all=18)
    assert running.wait() == 3, running.log
    assert "the NVIDIA driver was upgraded under this process" in running.log


def test_a_mismatch_at_the_start_is_told_and_waited_out(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(init=18)
    running = exporter(QUICK, nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.NVML_INIT_ERROR_CODE) == 18)
    assert "reload the module or reboot" in running.log
    nvml.tell()
    running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)


def test_expected_gpus_of_a_process(exporter: Start, nvml: FakeNvml, tmp_path: Path) -> None:
    for bus in ("0f", "17", "1f"):
        add_gpu(tmp_path / "sys", f"0000:{bus}:00.0")
    running = exporter(QUICK, "--gpu.expected=8", f"--path.sysfs={tmp_path / 'sys'}", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.DEVICES) == 2)
    assert scrape.value(metrics.DEVICES_EXPECTED, source="config") == 8
    assert scrape.value(metrics.DEVICES_EXPECTED, source="pci") == 3
    nvml.tell(gpus=3)
    running.wait_for(lambda s: s.value(metrics.UP, 2) == 1)

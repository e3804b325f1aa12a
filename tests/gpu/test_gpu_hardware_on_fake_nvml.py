"""Through the real pynvml: what differs between drivers and boards."""

from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_process import Exporter, FakeNvml, build_fake_nvml

from exporters.gpu import metrics
from exporters.gpu.collectors import COLLECTORS

pytestmark = pytest.mark.tool("gcc")

Start = Callable[..., Exporter]
QUICK = "--gpu.interval=200ms"
EVERYTHING = [f"--collector.{name}" for name in COLLECTORS]
UNSUPPORTED, DENIED, NOT_FOUND = 3, 4, 6


@pytest.mark.complaint(23)
@pytest.mark.parametrize(
    ("defines", "driver"),
    [(("-DLONG_PROCESSES",), "535.43.02"), (("-DOLD_DRIVER",), "470.256.02"), ((), "535.161.08")],
)
def test_processes_of_each_driver(
    defines: tuple[str, ...], driver: str, exporter: Start, tmp_path: Path, library: Path
) -> None:
    folder = build_fake_nvml(tmp_path / "lib", *defines).parent if defines else library
    nvml = FakeNvml(tmp_path, folder)
    # Two processes, so that a wrong size of the struct would show in the second.
    told = {"_0__process__compute__0": "4711:1073741824", "_0__process__compute__1": "4712:2147483648"}
    nvml.tell(gpus=1, driver=driver, **told)
    # A /proc that is not the host's: no process is looked for.
    scrape = exporter(QUICK, f"--path.procfs={tmp_path}", nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.PROCESSES, 0, type="compute") == 2
    assert scrape.value(metrics.PROCESS_MEMORY_USED, 0, pid="4711") == 2**30
    assert scrape.value(metrics.PROCESS_MEMORY_USED, 0, pid="4712") == 2**31


@pytest.mark.complaint(32)
def test_nvlinks_of_boards_with_none_four_and_eighteen(exporter: Start, nvml: FakeNvml) -> None:
    counters = {"field__138": 1000, "field__139": 3000, "field__161": 1, "field__162": 0, "field__163": 2}
    # The driver of GPU 3 does not say how many links there are, and answers INVALID_ARGUMENT after the last.
    links = {"_1__nvlinks": 4, "_1__field32__91": 4, "_1__nvlink__3": 0, "_2__nvlinks": 18, "_2__field32__91": 18}
    nvml.tell(gpus=4, **counters, **links, _3__nvlinks=2)
    running = exporter(QUICK, "--collector.nvlink", nvml=nvml)
    scrape = running.wait_for(lambda s: all(s.value(metrics.UP, gpu) == 1 for gpu in range(4)))
    assert [scrape.value(metrics.NVLINK_LINKS, gpu) for gpu in range(4)] == [None, 4, 18, 2]
    assert [scrape.value(metrics.NVLINK_LINKS_UP, gpu) for gpu in range(4)] == [None, 3, 18, 2]
    assert scrape.value(metrics.NVLINK_TRANSMITTED, 2) == 1000 * 1024
    assert scrape.value(metrics.NVLINK_RECEIVED, 2) == 3000 * 1024
    assert scrape.value(metrics.NVLINK_ERRORS, 2, type="crc") == 18 * 2
    assert scrape.value(metrics.CAPABILITY, 0, feature="nvlink") == 0
    assert scrape.value(metrics.CAPABILITY, 2, feature="nvlink") == 1
    assert scrape.value(metrics.COLLECTOR_SUCCESS, collector="nvlink") == 1
    # What a board has not is not asked for again.
    running.wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > 3)
    assert nvml.calls("nvmlDeviceGetNvLinkState", 0) == 1


def test_nvlink_5_counts_in_other_fields(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, nvlinks=2, field32__91=2, field__202=500, field__204=700, field__208=3)
    scrape = exporter(QUICK, "--collector.nvlink", nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.NVLINK_TRANSMITTED, 0) == 1000
    assert scrape.value(metrics.NVLINK_RECEIVED, 0) == 1400
    assert scrape.value(metrics.NVLINK_ERRORS, 0, type="receive") == 6
    assert scrape.value(metrics.NVLINK_ERRORS, 0, type="crc") is None


@pytest.mark.complaint(30)
def test_a_vgpu_that_supports_next_to_nothing(exporter: Start, nvml: FakeNvml) -> None:
    # What hardware.c has is not supported without being told; GPM answers only when it is first used.
    told = ("UtilizationRates", "TotalEnergyConsumption", "PowerUsage", "PowerManagementLimit", "EnforcedPowerLimit")
    nvml.tell(gpus=1, gpm=1, nvmlGpmSampleGet=UNSUPPORTED, **{f"nvmlDeviceGet{name}": UNSUPPORTED for name in told})
    running = exporter(QUICK, *EVERYTHING, nvml=nvml)
    scrape = running.wait_for(lambda _: nvml.calls("nvmlDeviceGetClockInfo", 0) > 30)
    assert scrape.value(metrics.UP, 0) == 1
    assert scrape.value(metrics.CAPABILITY, 0, feature="activity") == 0
    assert scrape.value(metrics.CAPABILITY, 0, feature="utilization") == 0
    assert all(value == 1 for (name, _), value in scrape.samples.items() if name == metrics.COLLECTOR_SUCCESS.name)
    # Each unsupported call was made once: on a vGPU each writes a line into the kernel's log.
    refused = ("nvmlGpmSampleGet", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetRemappedRows", "nvmlDeviceGetSerial")
    assert [nvml.calls(function, 0) for function in refused] == [1] * len(refused)
    assert scrape.value(metrics.REJECTED_VALUES) == 0


def test_a_denied_call_is_not_made_in_each_collection(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, nvmlDeviceGetComputeRunningProcesses_v3=DENIED)
    running = exporter(QUICK, nvml=nvml)
    scrape = running.wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > 5)
    assert nvml.calls("nvmlDeviceGetComputeRunningProcesses_v3", 0) == 1
    assert scrape.value(metrics.COLLECTOR_SUCCESS, collector="process") == 0
    name = "nvmlDeviceGetComputeRunningProcesses"
    assert scrape.value(metrics.NVML_ERRORS, function=f"{name}_v3", code="no_permission") == 1
    assert running.log.count("no_permission") == 1


def test_what_never_changes_is_read_once(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, serial=165, pcie_width_max=16, power_default=700000)
    running = exporter(QUICK, *EVERYTHING, nvml=nvml)
    running.wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > 5)
    for function in ("Serial", "VbiosVersion", "MaxPcieLinkWidth", "PowerManagementDefaultLimit", "NumFans"):
        assert nvml.calls(f"nvmlDeviceGet{function}", 0) == 1, function


@pytest.mark.complaint(15, 16, 17)
def test_instances_come_and_go(exporter: Start, nvml: FakeNvml, tmp_path: Path) -> None:
    first = {
        "_0__mig__0": 1,
        "_0__mig__0__name": "NVIDIA H200 MIG 1g.18gb",
        "_0__mig__0__memory_total": 2**34,
        "_0__mig__0__process__compute__0": "4711:4096",
        "_0__mig_gpm__1__2": 80,
    }
    second = {"_0__mig__4": 5, "_0__mig__4__memory_total": 2**33}
    nvml.tell(gpus=1, mig_mode=1, gpm=1, nvmlDeviceGetUtilizationRates=UNSUPPORTED, **first)
    running = exporter(QUICK, f"--path.procfs={tmp_path}", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.MIG_SM_ACTIVE, 0, gpu_instance="1") == 0.8)
    assert scrape.value(metrics.MIG_MEMORY_TOTAL, 0, gpu_instance="1") == 2**34
    assert scrape.value(metrics.MIG_INFO, 0, gpu_instance="1", profile="1g.18gb") == 1
    assert scrape.value(metrics.PROCESS_MEMORY_USED, 0, pid="4711", gpu_instance="1") == 4096
    assert scrape.value(metrics.UTILIZATION, 0) is None
    # The board's power is told once, for the board.
    assert scrape.value(metrics.POWER_USAGE) == 300
    nvml.tell(gpus=1, mig_mode=1, gpm=1, nvmlDeviceGetUtilizationRates=UNSUPPORTED, **second)
    scrape = running.wait_for(lambda s: s.value(metrics.MIG_MEMORY_TOTAL, 0, gpu_instance="5") == 2**33)
    assert scrape.value(metrics.MIG_INFO, 0, gpu_instance="1") is None
    assert scrape.value(metrics.COLLECTOR_SUCCESS, collector="mig") == 1
    assert running.stop() == 0
    assert nvml.calls("nvmlGpmSampleFree") == nvml.calls("nvmlGpmSampleAlloc") > 0


@pytest.mark.complaint(25)
def test_a_gpu_that_shares_the_hosts_memory(exporter: Start, nvml: FakeNvml, tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 128 kB\nMemAvailable: 64 kB\n")
    memory = {"nvmlDeviceGetMemoryInfo": UNSUPPORTED, "nvmlDeviceGetMemoryInfo_v2": UNSUPPORTED}
    nvml.tell(gpus=1, name="NVIDIA GB10", _0__process__compute__0="4711:4096", **memory)
    scrape = exporter(QUICK, f"--path.procfs={tmp_path}", nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.MEMORY_UNIFIED, 0) == 1
    assert scrape.value(metrics.UNIFIED_TOTAL, 0) == 128 * 1024
    assert scrape.value(metrics.MEMORY_TOTAL, 0) is None
    assert scrape.value(metrics.PROCESS_MEMORY_USED, 0, pid="4711") == 4096
    assert scrape.value(metrics.MEMORY_UNATTRIBUTED, 0) is None
    assert scrape.value(metrics.COLLECTOR_SUCCESS, collector="memory") == 1


def test_a_burst_is_seen_by_every_scrape(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, utilization=5, samples__1="5,100,5")
    running = exporter(QUICK, nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.UTILIZATION, 0) == 0.05
    before = nvml.calls("nvmlDeviceGetPowerUsage", 0)
    scrape = running.wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > before + 2)
    assert scrape.value(metrics.UTILIZATION_MAX, 0) == 1
    nvml.tell(gpus=1, utilization=5, samples__1="5,100,5,6")
    running.wait_for(lambda s: s.value(metrics.UTILIZATION_AVG, 0) == pytest.approx(0.29))


@pytest.mark.complaint(26)
def test_nothing_that_blocks_or_reads_flash_is_polled(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, pcie_tx=1, pcie_rx=1)
    exporter(QUICK, nvml=nvml).wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > 3)
    assert nvml.calls("nvmlDeviceGetPcieThroughput", 0) == 0
    assert nvml.calls("nvmlDeviceValidateInforom", 0) == 0


def test_scrapes_ask_the_gpu_nothing(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1)
    running = exporter("--gpu.interval=1h", "--gpu.sampler-hz=0", nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    before = nvml.calls("nvmlDeviceGetPowerUsage", 0), nvml.calls("nvmlDeviceGetFieldValues", 0)
    for _ in range(5):
        running.scrape()
    assert before == (nvml.calls("nvmlDeviceGetPowerUsage", 0), nvml.calls("nvmlDeviceGetFieldValues", 0))

"""The real process and the real pynvml on a fake libnvidia-ml.so.1."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_process import Exporter, FakeNvml, build_fake_nvml

from exporters.gpu import metrics

pytestmark = pytest.mark.tool("gcc")

Start = Callable[..., Exporter]
QUICK = "--gpu.interval=200ms"


def test_healthy_gpus(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(_1__temperature=61, _1__reasons=4, _0__field__74=1_500_000_000)
    running = exporter(QUICK, nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    assert scrape.value(metrics.TEMPERATURE, 0) == 50
    assert scrape.value(metrics.TEMPERATURE, 1) == 61
    assert scrape.value(metrics.MEMORY_USED, 0) == 2**30
    assert scrape.value(metrics.MEMORY_RESERVED, 0) == 614 * 2**20
    assert scrape.value(metrics.CLOCK, 0, domain="sm") == 1501e6
    assert scrape.value(metrics.CLOCK, 0, domain="memory") == 2600e6
    assert scrape.value(metrics.CLOCK_MAX, 0, domain="sm") == 1980e6
    assert scrape.value(metrics.POWER_USAGE, 0) == 300
    assert scrape.value(metrics.POWER_LIMIT, 0) == 700
    assert scrape.value(metrics.POWER_LIMIT_ENFORCED, 0) == 650
    assert scrape.value(metrics.ENERGY, 0) == 1234.567
    assert scrape.value(metrics.CLOCKS_EVENT_ACTIVE, 1, reason="sw_power_cap") == 1
    assert scrape.value(metrics.CLOCKS_EVENT_ACTIVE, 0, reason="sw_power_cap") == 0
    assert scrape.value(metrics.CLOCKS_EVENT_SECONDS, 0, reason="sw_power_cap") == 1.5
    uuid = "GPU-fa4e0000-0000-4000-8000-000000000001"
    assert scrape.value(metrics.INFO, 1, uuid=uuid, name="Fake H200", pci_bus_id="00000000:17:00.0") == 1
    versions = {"driver_version": "580.126.09", "cuda_version": "13.1", "nvml_version": "13.580.126.09"}
    assert scrape.value(metrics.DRIVER_INFO, **versions) == 1
    assert scrape.value(metrics.SIMULATED) == 0
    assert running.stop() == 0
    assert nvml.calls("nvmlShutdown") == 1


@pytest.mark.complaint(3)
def test_a_gpu_lost_at_start(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(_1__all=15)
    running = exporter(QUICK, nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1 and s.value(metrics.UP, 1) == 0)
    assert scrape.value(metrics.LAST_ERROR_CODE, 1) == 15
    assert scrape.value(metrics.DEVICES) == 2
    assert "GPU 1 (uuid not known) cannot be collected" in running.log
    nvml.tell()
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)


@pytest.mark.complaint(2)
def test_a_gpu_lost_while_running(exporter: Start, nvml: FakeNvml) -> None:
    running = exporter(QUICK, nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    nvml.tell(_1__all=15)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 1) == 0)
    health = {metrics.UP, metrics.STUCK, metrics.LAST_ERROR_CODE, metrics.LAST_COLLECTION_TIMESTAMP}
    # What it reported before it was lost may say why.
    assert scrape.of_gpu(1) == {str(metric) for metric in health | {metrics.COLLECTION_DURATION, metrics.XID_ERRORS}}
    assert scrape.value(metrics.LAST_ERROR_CODE, 1) == 15
    assert scrape.value(metrics.UP, 0) == 1
    assert running.healthz() == 200


@pytest.mark.complaint(1)
def test_a_wedged_gpu(exporter: Start, nvml: FakeNvml) -> None:
    running = exporter(QUICK, "--gpu.deadline=2s", nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    nvml.tell(_1__hang=1)
    scrape = running.wait_for(lambda s: s.value(metrics.STUCK, 1) == 1)
    assert scrape.value(metrics.UP, 1) == 0
    assert scrape.value(metrics.TEMPERATURE, 1) is None
    nvml.tell(_1__hang=1, _0__temperature=88)
    running.wait_for(lambda s: s.value(metrics.TEMPERATURE, 0) == 88)
    assert running.healthz() == 200
    nvml.tell()
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)


def test_a_wedged_gpu_does_not_keep_the_process_from_ending(exporter: Start, nvml: FakeNvml) -> None:
    running = exporter(QUICK, "--gpu.deadline=200ms", nvml=nvml)
    nvml.tell(_1__hang=1)
    running.wait_for(lambda s: s.value(metrics.STUCK, 1) == 1)
    assert running.stop() == 0
    assert nvml.calls("nvmlShutdown") == 0


def test_a_library_that_appears_later(exporter: Start, library: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    late = FakeNvml(tmp_path, folder)
    running = exporter(QUICK, nvml=late)
    scrape = running.wait_for(lambda s: s.value(metrics.NVML_INIT_ERROR_CODE) == 12)
    assert scrape.value(metrics.NVML_UP) == 0
    assert running.healthz() == 200
    assert running.log.count("libnvidia-ml.so.1 is not here") == 1
    shutil.copy(library / "libnvidia-ml.so.1", folder / "new")
    (folder / "new").rename(folder / "libnvidia-ml.so.1")
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.NVML_UP) == 1
    assert scrape.value(metrics.NVML_INIT_ERROR_CODE) == 0


@pytest.mark.complaint(5)
def test_a_driver_that_is_loaded_later_and_lost_again(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(init=9)
    running = exporter(QUICK, nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.NVML_INIT_ERROR_CODE) == 9)
    nvml.tell()
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    nvml.tell(init=9, _0__all=1, _1__all=1)
    scrape = running.wait_for(lambda s: s.value(metrics.NVML_INIT_ERROR_CODE) == 9)
    assert scrape.value(metrics.NVML_UP) == 0
    assert scrape.value(metrics.UP, 0) == scrape.value(metrics.UP, 1) == 0
    nvml.tell()
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    assert scrape.value(metrics.NVML_REINITS) == 1


@pytest.mark.complaint(30)
def test_unsupported_values_are_absent_and_not_asked_for_again(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(
        gpus=1,
        nvmlDeviceGetUtilizationRates=3,
        nvmlDeviceGetMemoryInfo=3,
        nvmlDeviceGetMemoryInfo_v2=3,
        nvmlDeviceGetTotalEnergyConsumption=3,
    )
    running = exporter(QUICK, nvml=nvml)
    scrape = running.wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > 5)
    for metric in (metrics.UTILIZATION, metrics.MEMORY_TOTAL, metrics.MEMORY_USED, metrics.ENERGY):
        assert scrape.value(metric, 0) is None
    assert scrape.value(metrics.UP, 0) == 1
    assert scrape.value(metrics.COLLECTOR_SUCCESS, collector="memory") == 1
    for function in ("UtilizationRates", "MemoryInfo", "MemoryInfo_v2", "TotalEnergyConsumption"):
        assert nvml.calls(f"nvmlDeviceGet{function}", 0) == 1
    # No field id was supported, so that each was asked for once: the counters, the memory's heat, the recovery action.
    assert nvml.calls("nvmlDeviceGetFieldValues", 0) == 3


@pytest.mark.complaint(10)
@pytest.mark.parametrize(
    ("driver", "hw_thermal"), [("570.86.15", None), ("580.65.06", 1.5), ("580.82.07", 2.5), ("580.70.01", None)]
)
def test_the_slowdown_counters_of_the_driver(
    driver: str, hw_thermal: float | None, exporter: Start, nvml: FakeNvml
) -> None:
    old = {"_0__field__251": 0, "_0__field__252": 1_500_000_000, "_0__field__253": 0}
    new = {"_0__field__269": 0, "_0__field__270": 2_500_000_000, "_0__field__271": 0}
    nvml.tell(gpus=1, driver=driver, _0__field__74=10**9, **old, **new)
    scrape = exporter(QUICK, nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.CLOCKS_EVENT_SECONDS, 0, reason="sw_power_cap") == 1
    assert scrape.value(metrics.CLOCKS_EVENT_SECONDS, 0, reason="hw_thermal_slowdown") == hw_thermal


def test_a_field_of_another_type_is_no_counter(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, _0__field__74=10**9, _0__field32__270=1)
    scrape = exporter(QUICK, nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.CLOCKS_EVENT_SECONDS, 0, reason="hw_thermal_slowdown") is None


def test_a_field_that_says_the_gpu_is_lost(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, _0__fielderror__74=15)
    scrape = exporter(QUICK, nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 0)
    assert scrape.value(metrics.LAST_ERROR_CODE, 0) == 15


def test_an_episode_between_two_scrapes_is_seen(exporter: Start, nvml: FakeNvml) -> None:
    running = exporter("--gpu.interval=1h", nvml=nvml)
    hot = {"gpu": 0, "reason": "hw_thermal_slowdown"}
    running.wait_for(lambda s: s.value(metrics.CLOCKS_EVENT_EPISODES, **hot) == 0)

    def sampled_three_times_more() -> None:
        now = nvml.calls("nvmlDeviceGetCurrentClocksEventReasons", 0)
        running.wait_for(lambda _: nvml.calls("nvmlDeviceGetCurrentClocksEventReasons", 0) > now + 3)

    nvml.tell(_0__reasons=0x40)
    sampled_three_times_more()
    nvml.tell(_0__reasons=0)
    sampled_three_times_more()
    # The answer of a scrape is kept for a while, so that the first with the episode may not hold all of it.
    scrape = running.wait_for(lambda s: (s.value(metrics.CLOCKS_EVENT_SAMPLED_SECONDS, **hot) or 0) > 0.1)
    assert scrape.value(metrics.CLOCKS_EVENT_EPISODES, **hot) == 1
    assert scrape.value(metrics.CLOCKS_EVENT_ACTIVE, **hot) == 0
    assert scrape.value(metrics.CLOCKS_EVENT_EPISODES, 1, reason="hw_thermal_slowdown") == 0


def test_values_that_cannot_be_are_rejected(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, utilization=4294967295, temperature=4000)
    running = exporter(QUICK, nvml=nvml)
    scrape = running.wait_for(lambda s: (s.value(metrics.REJECTED_VALUES) or 0) > 2)
    assert scrape.value(metrics.UTILIZATION, 0) is None
    assert scrape.value(metrics.TEMPERATURE, 0) is None
    assert scrape.value(metrics.UP, 0) == 1
    assert running.log.count("gpu_temperature_celsius read 4000") == 1


@pytest.mark.complaint(12)
def test_a_driver_before_535(exporter: Start, tmp_path: Path) -> None:
    old = FakeNvml(tmp_path, build_fake_nvml(tmp_path / "old", "-DOLD_DRIVER").parent)
    old.tell(gpus=1, driver="470.256.02", _0__reasons=8)
    scrape = exporter(QUICK, nvml=old).wait_for(
        lambda s: s.value(metrics.CLOCKS_EVENT_EPISODES, 0, reason="hw_slowdown") == 1
    )
    assert scrape.value(metrics.TEMPERATURE, 0) == 50
    assert scrape.value(metrics.MEMORY_USED, 0) == 2**30 + 614 * 2**20
    assert scrape.value(metrics.MEMORY_RESERVED, 0) is None
    assert scrape.value(metrics.CLOCKS_EVENT_ACTIVE, 0, reason="hw_slowdown") == 1


def test_collectors_can_be_switched_off(exporter: Start, nvml: FakeNvml) -> None:
    flags = ("--no-collector.power", "--no-collector.info", "--gpu.sampler-hz=0")
    scrape = exporter(QUICK, *flags, nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.POWER_USAGE, 0) is None
    assert scrape.value(metrics.INFO, 0) is None
    assert scrape.value(metrics.TEMPERATURE, 0) == 50
    assert scrape.value(metrics.COLLECTOR_SUCCESS, collector="power") is None
    assert nvml.calls("nvmlDeviceGetPowerUsage", 0) == 0
    assert scrape.value(metrics.CLOCKS_EVENT_EPISODES, 0, reason="gpu_idle") is None


@pytest.mark.tool("promtool")
def test_promtool_likes_the_metrics(exporter: Start, nvml: FakeNvml, tool: Callable[[str], Path]) -> None:
    nvml.tell(_1__all=15, _0__field__74=1)
    running = exporter(QUICK, nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.CLOCKS_EVENT_EPISODES, 0, reason="gpu_idle") is not None)
    checked = subprocess.run(
        [tool("promtool"), "check", "metrics"], input=scrape.text, text=True, capture_output=True, check=False
    )
    assert checked.stdout + checked.stderr == ""
    assert checked.returncode == 0

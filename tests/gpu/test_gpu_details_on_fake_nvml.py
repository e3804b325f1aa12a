"""The details, through the real pynvml and the calls that it has not."""

from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_process import Exporter, FakeNvml

from exporters.gpu import metrics

pytestmark = pytest.mark.tool("gcc")

Start = Callable[..., Exporter]
QUICK = "--gpu.interval=200ms"
CORRUPTED, UNKNOWN, VGPU = 14, 999, 2


@pytest.mark.parametrize(("version", "serial"), [(2, "1821325191344"), (1, "")])
def test_the_place_in_a_rack_by_either_version_of_the_call(
    version: int, serial: str, exporter: Start, nvml: FakeNvml
) -> None:
    nvml.tell(gpus=1, platform="1821325191344 21 4 1 3", platform_version=version)
    running = exporter(QUICK, "--collector.platform", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1 and nvml.calls("nvmlDeviceGetPowerUsage", 0) > 3)
    place = {"chassis_serial": serial, "slot": "21", "tray": "4", "host": "1", "module": "3"}
    assert scrape.value(metrics.PLATFORM_INFO, 0, **place) == 1
    assert nvml.calls("nvmlDeviceGetPlatformInfo", 0) == (1 if version == 2 else 2)


def test_each_fan_is_asked_for_and_not_only_the_first(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, fans=2, fan__0=38, fan__1=41, rpm__0=1520, rpm__1=1610)
    scrape = exporter(QUICK, "--collector.fans", nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert [scrape.value(metrics.FAN_RPM, 0, fan=fan) for fan in "01"] == [1520, 1610]
    assert scrape.value(metrics.FAN_SPEED, 0, fan="1") == pytest.approx(0.41)


def test_memory_errors_by_place_and_in_the_caches(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, ecc_at__0__2=5, ecc_at__1__7=2, sram="1 4 3 2 1 0", repair="0 1", unrepairable=1)
    running = exporter(QUICK, "--collector.ecc_locations", "--collector.ecc_sram", "--collector.repair", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1 and nvml.calls("nvmlDeviceGetPowerUsage", 0) > 3)
    assert scrape.value(metrics.ECC_LOCATION_ERRORS, 0, location="dram", type="corrected") == 5
    assert scrape.value(metrics.ECC_LOCATION_ERRORS, 0, location="sram", type="uncorrected") == 2
    assert scrape.value(metrics.ECC_LOCATION_ERRORS, 0, location="l2_cache") is None
    assert scrape.value(metrics.ECC_SRAM_THRESHOLD_EXCEEDED, 0) == 1
    units = {"l2": 4, "sm": 3, "pcie": 2, "mcu": 1, "other": 0}
    assert {unit: scrape.value(metrics.ECC_SRAM_UNCORRECTED, 0, unit=unit) for unit in units} == units
    assert scrape.value(metrics.REPAIR_PENDING, 0, component="tpc") == 1
    assert scrape.value(metrics.REPAIR_PENDING, 0, component="channel") == 0
    assert scrape.value(metrics.UNREPAIRABLE_MEMORY, 0) == 1
    # Places that the GPU has not were asked for once: 8 places of 2 kinds, of which 2 are there.
    collections = nvml.calls("nvmlDeviceGetSramEccErrorStatus", 0)
    assert nvml.calls("nvmlDeviceGetMemoryErrorCounter", 0) <= 14 + 2 * (collections + 1)


def test_a_vgpu_is_not_asked_for_its_spare_rows(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=2, banks="3072 0 0 0 0", _1__virtualization=VGPU)
    running = exporter(QUICK, "--collector.row_remapping_counts", nvml=nvml)
    scrape = running.wait_for(lambda s: all(s.value(metrics.UP, gpu) == 1 for gpu in (0, 1)))
    assert scrape.value(metrics.ROW_REMAP_BANKS, 0, availability="max") == 3072
    assert scrape.value(metrics.ROW_REMAP_BANKS, 1, availability="max") is None
    assert nvml.calls("nvmlDeviceGetRowRemapperHistogram", 1) == 0


@pytest.mark.parametrize(("code", "valid"), [(0, 1), (CORRUPTED, 0), (UNKNOWN, None)])
def test_the_inforom_is_read_once(code: int, valid: float | None, exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, inforom=code)
    running = exporter(QUICK, "--collector.inforom", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1 and nvml.calls("nvmlDeviceGetPowerUsage", 0) > 3)
    assert scrape.value(metrics.INFOROM_VALID, 0) == valid
    assert nvml.calls("nvmlDeviceValidateInforom", 0) == 1
    assert scrape.value(metrics.COLLECTOR_SUCCESS, collector="inforom") == (valid is not None)


def test_the_link_that_fails_is_found(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, nvlinks=4, field32__91=4, nvlink__2=0, field32__164=26562, field__163=7)
    scrape = exporter(QUICK, "--collector.nvlink_links", nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert [scrape.value(metrics.NVLINK_UP, 0, link=str(link)) for link in range(4)] == [1, 1, 0, 1]
    assert scrape.value(metrics.NVLINK_SPEED, 0, link="3") == 26.562e9
    assert scrape.value(metrics.NVLINK_LINK_ERRORS, 0, link="3", type="crc") == 7
    assert scrape.value(metrics.NVLINK_UP, 0, link="4") is None


def test_use_by_processes(exporter: Start, nvml: FakeNvml, tmp_path: Path) -> None:
    first = {"used__0": "4711:40"}
    nvml.tell(gpus=1, **first)
    # What one collection found stands until the next.
    running = exporter("--gpu.interval=5s", "--collector.process_utilization", f"--path.procfs={tmp_path}", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.PROCESS_SM_UTILIZATION, 0) is None
    nvml.tell(gpus=1, **first, used__1="4711:93", used__2="4712:5")
    scrape = running.wait_for(lambda s: s.value(metrics.PROCESS_SM_UTILIZATION, 0, pid="4711") == 0.93)
    assert scrape.value(metrics.PROCESS_SM_UTILIZATION, 0, pid="4712") == 0.05


def test_a_process_that_used_nothing_is_absent_and_no_error(exporter: Start, nvml: FakeNvml, tmp_path: Path) -> None:
    nvml.tell(gpus=1, used__0="4711:93")
    running = exporter(QUICK, "--collector.process_utilization", f"--path.procfs={tmp_path}", nvml=nvml)
    running.wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > 3)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.PROCESS_SM_UTILIZATION, 0) is None
    assert scrape.value(metrics.COLLECTOR_SUCCESS, collector="process_utilization") == 1
    assert scrape.value(metrics.CAPABILITY, 0, feature="process_utilization") == 1


def test_power_of_the_memory_is_not_that_of_the_board(exporter: Start, nvml: FakeNvml) -> None:
    told = {"field32__186": 644120, "field32__186__1": 900000, "field32__186__2": 68210}
    nvml.tell(gpus=1, **told)
    scrape = exporter(QUICK, "--collector.power_details", nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.POWER_INSTANT, 0) == pytest.approx(644.12)
    assert scrape.value(metrics.MODULE_POWER, 0) == pytest.approx(900)
    assert scrape.value(metrics.MEMORY_POWER, 0) == pytest.approx(68.21)


@pytest.mark.parametrize(
    ("fabric", "state", "status", "problem"),
    [
        # In pairs of bits: bandwidth is not degraded, a route is unhealthy; the configuration is right.
        ("3 0 274", 3, 0, {"degraded_bandwidth": 0, "route_unhealthy": 1, "incorrect_configuration": 0}),
        ("3 999 1024", 3, 999, {"degraded_bandwidth": None, "incorrect_configuration": 1}),
        ("1 0 0", 1, None, {"route_unhealthy": None, "incorrect_configuration": None}),
        ("0 0 0", None, None, {"route_unhealthy": None}),
    ],
)
def test_whether_a_gpu_has_joined_its_fabric(
    fabric: str,
    state: float | None,
    status: float | None,
    problem: dict[str, float | None],
    exporter: Start,
    nvml: FakeNvml,
) -> None:
    nvml.tell(gpus=1, fabric=fabric)
    scrape = exporter(QUICK, "--collector.fabric", nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.FABRIC_STATE, 0) == state
    assert scrape.value(metrics.FABRIC_STATUS, 0) == status
    assert {name: scrape.value(metrics.FABRIC_PROBLEM, 0, problem=name) for name in problem} == problem
    assert scrape.value(metrics.CAPABILITY, 0, feature="fabric") == float(state is not None)


def test_pages_retired_on_an_old_gpu(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, driver="535.161.08", field__29=3, field__30=1, field32__31=1)
    scrape = exporter(QUICK, "--collector.retired_pages", nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.RETIRED_PAGES, 0, cause="single_bit") == 3
    assert scrape.value(metrics.RETIRED_PAGES, 0, cause="double_bit") == 1
    assert scrape.value(metrics.RETIRED_PAGES_PENDING, 0) == 1


def test_bytes_a_second_over_pcie_without_blocking(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, gpm=1, gpm__20=4021.5, gpm__21=8288, pcie_tx=1, pcie_rx=1)
    running = exporter(QUICK, "--collector.pcie_rate", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.PCIE_RECEIVING, 0) is not None)
    assert scrape.value(metrics.PCIE_TRANSMITTING, 0) == 4021.5 * 2**20
    assert scrape.value(metrics.PCIE_RECEIVING, 0) == 8288 * 2**20
    assert nvml.calls("nvmlDeviceGetPcieThroughput", 0) == 0


def test_more_processes_than_there_was_room_for(exporter: Start, nvml: FakeNvml, tmp_path: Path) -> None:
    many = 40
    nvml.tell(gpus=1, **{f"process__compute__{number}": f"{4711 + number}:4096" for number in range(many)})
    scrape = exporter(QUICK, f"--path.procfs={tmp_path}", nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.PROCESSES, 0, type="compute") == many
    assert scrape.value(metrics.COLLECTOR_SUCCESS, collector="process") == 1


@pytest.mark.parametrize(("driver", "links", "active"), [("580.126.09", 3, 2), ("515.105.01", None, None)])
def test_links_to_the_cpu_of_the_module(
    driver: str, links: float | None, active: float | None, exporter: Start, nvml: FakeNvml
) -> None:
    # The first link has scope 0; one of the three is not active.
    nvml.tell(gpus=1, driver=driver, field32__170=3, field32__171=1, field32__171__1=0, field32__171__2=1)
    scrape = exporter(QUICK, "--collector.c2c", nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.C2C_LINKS, 0) == links
    assert scrape.value(metrics.C2C_LINKS_ACTIVE, 0) == active
    assert scrape.value(metrics.CAPABILITY, 0, feature="c2c") == float(links is not None)


@pytest.mark.parametrize(("on", "used"), [(1, 2**30), (0, None), (None, None)])
def test_memory_that_is_closed_to_the_host(on: int | None, used: float | None, exporter: Start, nvml: FakeNvml) -> None:
    told = {} if on is None else {"confidential": on}
    nvml.tell(gpus=1, confidential_used=2**30, **told)
    running = exporter(QUICK, "--collector.confidential_computing", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.CONFIDENTIAL_COMPUTE_ENABLED, 0) == on
    assert scrape.value(metrics.PROTECTED_MEMORY_USED, 0) == used
    assert scrape.value(metrics.CAPABILITY, 0, feature="confidential_computing") == float(on is not None)

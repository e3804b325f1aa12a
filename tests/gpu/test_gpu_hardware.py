"""The collectors of what is not on every GPU."""

import math
from pathlib import Path
from typing import Any

import pytest
from gpu_fakes import UNSUPPORTED, FakeDevice, capabilities, collect, collect_with, values

from exporters.gpu import metrics
from exporters.gpu.answers import Memory, MigInstance, NvLink, RemappedRows
from exporters.gpu.collectors import unified_memory
from exporters.gpu.tally import Tally
from inferwatch.metric import Metric


@pytest.mark.parametrize(
    ("collector", "answers", "metric", "value"),
    [
        ("temperature", {"memory_celsius": 64}, metrics.MEMORY_TEMPERATURE, 64),
        ("temperature", {"margin_celsius": -3}, metrics.TEMPERATURE_MARGIN, -3),
        ("thresholds", {"slowdown_celsius": 89}, (metrics.TEMPERATURE_THRESHOLD, "slowdown"), 89),
        ("thresholds", {"shutdown_tlimit_celsius": -8}, (metrics.TEMPERATURE_TLIMIT, "shutdown"), -8),
        ("fans", {"fan_speeds": [38, 104]}, (metrics.FAN_SPEED, "1"), 1.04),
        ("power_details", {"instant_milliwatts": 644_120}, metrics.POWER_INSTANT, 644.12),
        ("power_details", {"lowest_limit_milliwatts": 200_000}, metrics.POWER_LIMIT_MIN, 200),
        ("ecc", {"ecc_corrected": 2}, (metrics.ECC_ERRORS, "corrected"), 2),
        ("ecc_aggregate", {"ecc_uncorrected_ever": 1}, (metrics.ECC_ERRORS_AGGREGATE, "uncorrected"), 1),
        ("row_remapping", {"remapped_rows": RemappedRows(4, 1, 1, 0)}, metrics.ROW_REMAP_PENDING, 1),
        (
            "row_remapping_counts",
            {"remapped_rows": RemappedRows(4, 1, 1, 0)},
            (metrics.REMAPPED_ROWS, "correctable"),
            4,
        ),
        ("recovery", {"recovery_action": 2}, metrics.RECOVERY_ACTION, 2),
        ("pcie", {"pcie_generation": 5}, metrics.PCIE_GENERATION, 5),
        ("pcie_errors", {"pcie_naks_sent": 3}, (metrics.PCIE_ERRORS, "nak_sent"), 3),
        ("pcie_traffic", {"pcie_transmitted_bytes": 2**32}, metrics.PCIE_TRANSMITTED, 2**32),
        ("pcie_rate", {"pcie_transmitting_kilobytes_per_second": 4217}, metrics.PCIE_TRANSMITTING, 4_217_000),
        ("pcie_rate", {"pcie_receiving_kilobytes_per_second": 8691}, metrics.PCIE_RECEIVING, 8_691_000),
        ("media", {"jpeg_percent": 12}, metrics.JPEG, 0.12),
        ("modes", {"mig_mode": 0, "mig_mode_pending": 1}, metrics.MIG_MODE_PENDING, 1),
        ("modes", {"compute_mode": 3}, metrics.COMPUTE_MODE, 3),
        ("bar1", {"bar1_used_bytes": 4096}, metrics.BAR1_USED, 4096),
        ("activity", {"activity": {"sm": 83.5}}, metrics.SM_ACTIVE, 0.835),
        ("activity_details", {"activity": {"hmma": 54.5}}, (metrics.PIPE_ACTIVE, "hmma"), 0.545),
        ("clocks_all", {"clock": 1400}, (metrics.CLOCK, "video"), 1.4e9),
    ],
)
def test_a_value_is_in_base_units(collector: str, answers: dict[str, Any], metric: Any, value: float) -> None:
    device = FakeDevice()
    device.answers |= answers
    assert values(collect(device, collector))[metric] == pytest.approx(value)


@pytest.mark.parametrize(
    ("collector", "answers", "metric"),
    [
        ("temperature", {"memory_celsius": 0}, metrics.MEMORY_TEMPERATURE),
        ("power_details", {"instant_milliwatts": 2**32 - 1}, metrics.POWER_INSTANT),
        ("ecc", {"ecc_corrected": 2**64 - 1}, metrics.ECC_ERRORS),
        ("pcie", {"pcie_generation": 0}, metrics.PCIE_GENERATION),
        ("pcie_errors", {"pcie_replays": 2**32 - 1}, metrics.PCIE_REPLAYS),
        ("fans", {"fan_speeds": [2**32 - 1]}, metrics.FAN_SPEED),
        ("activity", {"activity": {"sm": 130.0}}, metrics.SM_ACTIVE),
        ("activity", {"activity": {"sm": math.nan}}, metrics.SM_ACTIVE),
        ("activity", {"activity": {"dram": math.inf}}, metrics.DRAM_ACTIVE),
        ("recovery", {"recovery_action": 2**32 - 1}, metrics.RECOVERY_ACTION),
    ],
)
def test_a_value_that_cannot_be_is_rejected(collector: str, answers: dict[str, Any], metric: Metric) -> None:
    device, tally = FakeDevice(), Tally()
    device.answers |= answers
    snapshot = collect(device, collector, tally=tally)
    assert metric not in {sample.metric for sample in snapshot.samples}
    assert tally.rejected() == 1
    assert snapshot.runs[collector].success


def test_an_unknown_performance_state_is_absent_and_no_fault() -> None:
    device, tally = FakeDevice(), Tally()
    device.answers["performance_state"] = 32
    assert values(collect(device, "modes", tally=tally)) == {}
    assert tally.rejected() == 0


def test_capability_tells_absent_from_unsupported() -> None:
    device = FakeDevice()
    device.answers["ecc_corrected"] = 0
    device.answers["utilization"] = UNSUPPORTED
    found = capabilities(collect(device))
    assert found["utilization"] == 0
    assert found["ecc"] == 1
    assert found["activity"] == 0
    assert found["slowdown_counters"] == 1


def test_slowdown_counters_that_are_withdrawn_are_no_capability() -> None:
    device = FakeDevice()
    device.answers["counters"] = {74: 0, 75: 60 * 10**9, 269: 0, 270: 0, 271: 0}
    assert capabilities(collect(device, "clock_event_counters")) == {"slowdown_counters": 0}


def test_all_nvlinks_are_one() -> None:
    device = FakeDevice()
    device.answers["nvlink"] = NvLink(links=18, up=17, transmitted=1000, received=None, errors={"crc": 5})
    assert values(collect(device, "nvlink")) == {
        metrics.NVLINK_LINKS: 18,
        metrics.NVLINK_LINKS_UP: 17,
        metrics.NVLINK_TRANSMITTED: 1000,
        (metrics.NVLINK_ERRORS, "crc"): 5,
    }


def test_memory_of_a_gpu_instance_counts_once() -> None:
    device = FakeDevice()
    memory = Memory(total=1000, used=300, free=700, reserved=0)
    device.answers["mig_instances"] = [
        MigInstance("MIG-a", 1, 0, "1c.2g.20gb", memory),
        MigInstance("MIG-b", 1, 1, "1c.2g.20gb", memory),
        MigInstance("MIG-c", 2, 0, "3g.40gb", None),
    ]
    device.answers["mig_activity"] = {"sm": 50.0}
    snapshot = collect(device, "mig")
    found = values(snapshot)
    assert found[metrics.MIG_INFO, "1", "1", "MIG-b", "1c.2g.20gb"] == 1
    assert found[metrics.MIG_MEMORY_USED, "1"] == 300
    assert (metrics.MIG_MEMORY_USED, "2") not in found
    assert found[metrics.MIG_SM_ACTIVE, "2"] == 0.5
    keys = [(sample.metric, sample.labels) for sample in snapshot.samples]
    assert len(keys) == len(set(keys))


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "meminfo").write_text(
        "MemTotal:  1000 kB\nMemFree:  1 kB\nMemAvailable:    600 kB\nHugePages_Total: 0\n"
    )
    return tmp_path


@pytest.mark.parametrize("memory", [UNSUPPORTED, Memory(0, 0, 0, 0)])
def test_a_gpu_that_shares_the_hosts_memory_says_so(memory: object, proc: Path) -> None:
    device, tally = FakeDevice(), Tally()
    device.answers |= {"name": "NVIDIA GB10", "memory": memory}
    assert values(collect_with(unified_memory.collector(proc), device)) == {
        metrics.MEMORY_UNIFIED: 1,
        metrics.UNIFIED_TOTAL: 1000 * 1024,
        metrics.UNIFIED_AVAILABLE: 600 * 1024,
    }
    assert values(collect(device, "memory", tally=tally)) == {}
    assert tally.rejected() == 0


@pytest.mark.parametrize("name", ["NVIDIA H200", "GRID A100-10C"])
def test_a_gpu_that_does_not_tell_its_memory_need_not_share_the_hosts(name: str, proc: Path) -> None:
    device = FakeDevice()
    device.answers |= {"name": name, "memory": UNSUPPORTED}
    assert values(collect_with(unified_memory.collector(proc), device)) == {}

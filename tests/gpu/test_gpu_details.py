"""The collectors of details that are off by default."""

from pathlib import Path
from typing import Any

import pytest
from gpu_fakes import FakeDevice, capabilities, collect, collect_with, values

from exporters.gpu import metrics
from exporters.gpu.answers import (
    C2cLinks,
    ConfidentialComputing,
    Fabric,
    Link,
    Platform,
    ProcessUse,
    RowBanks,
    SramErrors,
)
from exporters.gpu.collectors import pcie, process_utilization
from exporters.gpu.tally import Tally
from inferwatch.metric import Metric


@pytest.mark.parametrize(
    ("collector", "answers", "metric", "value"),
    [
        (
            "platform",
            {"platform": Platform("1821325191344", "21", "4", "1", "3")},
            (metrics.PLATFORM_INFO, "1821325191344", "21", "4", "1", "3"),
            1,
        ),
        ("modes", {"accounting_mode": 1}, metrics.ACCOUNTING_MODE, 1),
        ("clocks_all", {"customer_boost_megahertz": 1980}, metrics.CLOCK_CUSTOMER_BOOST_MAX, 1.98e9),
        ("clocks_all", {"max_clock": 3201}, (metrics.CLOCK_MAX, "memory"), 3.201e9),
        (
            "clock_event_details",
            {"supported_clocks_event_reasons": 0x8},
            (metrics.CLOCKS_EVENT_SUPPORTED, "hw_slowdown"),
            1,
        ),
        ("clock_event_details", {}, (metrics.CLOCKS_EVENT_SUPPORTED, "reliability"), 0),
        (
            "clock_event_details",
            {"counters": {79: 1_500_000_000}},
            (metrics.POLICY_VIOLATION_SECONDS, "reliability"),
            1.5,
        ),
        ("power_details", {"memory_milliwatts": 68_210}, metrics.MEMORY_POWER, 68.21),
        ("fans", {"fan_rpms": [1520, 0]}, (metrics.FAN_RPM, "0"), 1520),
        ("ecc_locations", {"corrected sram": 3}, (metrics.ECC_LOCATION_ERRORS, "corrected", "sram"), 3),
        ("ecc_sram", {"sram_errors": SramErrors(True, {"l2": 4})}, metrics.ECC_SRAM_THRESHOLD_EXCEEDED, 1),
        ("ecc_sram", {"sram_errors": SramErrors(False, {"l2": 4})}, (metrics.ECC_SRAM_UNCORRECTED, "l2"), 4),
        (
            "row_remapping_counts",
            {"row_banks": RowBanks(2558, 0, 1, 0, 1)},
            (metrics.ROW_REMAP_BANKS, "partial"),
            1,
        ),
        ("repair", {"tpc_repair_pending": 1}, (metrics.REPAIR_PENDING, "tpc"), 1),
        ("repair", {"unrepairable_memory": 1}, metrics.UNREPAIRABLE_MEMORY, 1),
        ("inforom", {"inforom_valid": False}, metrics.INFOROM_VALID, 0),
        ("c2c", {"c2c": C2cLinks(10, 9)}, metrics.C2C_LINKS_ACTIVE, 9),
        (
            "confidential_computing",
            {"confidential_computing": ConfidentialComputing(True, 4096)},
            metrics.PROTECTED_MEMORY_USED,
            4096,
        ),
        ("fabric", {"fabric": Fabric(3, 0, {})}, metrics.FABRIC_STATE, 3),
        ("fabric", {"fabric": Fabric(3, 999, {})}, metrics.FABRIC_STATUS, 999),
        ("fabric", {"fabric": Fabric(3, 0, {"route_unhealthy": True})}, (metrics.FABRIC_PROBLEM, "route_unhealthy"), 1),
        ("retired_pages", {"retired_double_bit": 2}, (metrics.RETIRED_PAGES, "double_bit"), 2),
        ("retired_pages", {"retirement_pending": 1}, metrics.RETIRED_PAGES_PENDING, 1),
        ("pcie_rate", {"activity": {"pcie_transmit": 4.0}}, metrics.PCIE_TRANSMITTING, 4 * 2**20),
        (
            "pcie_rate",
            {"activity": {"sm": 4.0}, "pcie_receiving_kilobytes_per_second": 7},
            metrics.PCIE_RECEIVING,
            7000,
        ),
        ("nvlink_links", {"links": [Link(True, None, {}), Link(False, 0, {})]}, (metrics.NVLINK_UP, "1"), 0),
        ("nvlink_links", {"links": [Link(True, 26_562, {})]}, (metrics.NVLINK_SPEED, "0"), 26.562e9),
        ("nvlink_links", {"links": [Link(True, None, {"crc": 2})]}, (metrics.NVLINK_LINK_ERRORS, "0", "crc"), 2),
    ],
)
def test_a_value_is_in_base_units(collector: str, answers: dict[str, Any], metric: Any, value: float) -> None:
    device = FakeDevice()
    device.answers |= answers
    assert values(collect(device, collector))[metric] == pytest.approx(value)


@pytest.mark.parametrize(
    ("collector", "answers", "metric"),
    [
        ("modes", {"accounting_mode": 2}, metrics.ACCOUNTING_MODE),
        ("clocks_all", {"customer_boost_megahertz": 0}, metrics.CLOCK_CUSTOMER_BOOST_MAX),
        ("clock_event_details", {"counters": {77: 2**64 - 1}}, metrics.POLICY_VIOLATION_SECONDS),
        ("power_details", {"memory_milliwatts": 2**32 - 1}, metrics.MEMORY_POWER),
        ("fans", {"fan_rpms": [2**32 - 1]}, metrics.FAN_RPM),
        ("ecc_locations", {"corrected dram": 2**64 - 1}, metrics.ECC_LOCATION_ERRORS),
        ("ecc_sram", {"sram_errors": SramErrors(False, {"sm": 2**64 - 1})}, metrics.ECC_SRAM_UNCORRECTED),
        ("row_remapping_counts", {"row_banks": RowBanks(2**32 - 1, 0, 0, 0, 0)}, metrics.ROW_REMAP_BANKS),
        ("repair", {"channel_repair_pending": 7}, metrics.REPAIR_PENDING),
        ("fabric", {"fabric": Fabric(200, 0, {})}, metrics.FABRIC_STATE),
        ("retired_pages", {"retired_single_bit": 2**32 - 1}, metrics.RETIRED_PAGES),
        ("retired_pages", {"retirement_pending": 2}, metrics.RETIRED_PAGES_PENDING),
        ("pcie_rate", {"activity": {"pcie_receive": 1e300, "pcie_transmit": 1.0}}, metrics.PCIE_RECEIVING),
        ("repair", {"unrepairable_memory": 2}, metrics.UNREPAIRABLE_MEMORY),
        (
            "confidential_computing",
            {"confidential_computing": ConfidentialComputing(True, 2**64 - 1)},
            metrics.PROTECTED_MEMORY_USED,
        ),
        ("nvlink_links", {"links": [Link(True, 2**32 - 1, {})]}, metrics.NVLINK_SPEED),
        ("nvlink_links", {"links": [Link(True, 1, {"crc": 2**64 - 1})]}, metrics.NVLINK_LINK_ERRORS),
    ],
)
def test_a_value_that_cannot_be_is_rejected(collector: str, answers: dict[str, Any], metric: Metric) -> None:
    device, tally = FakeDevice(), Tally()
    device.answers |= answers
    snapshot = collect(device, collector, tally=tally)
    assert (
        len([sample for sample in snapshot.samples if sample.metric == metric])
        == (metric == metrics.ROW_REMAP_BANKS) * 4
    )
    assert tally.rejected() == 1
    assert snapshot.runs[collector].success


def test_how_joining_the_fabric_ended_is_not_told_before_it_ended() -> None:
    device = FakeDevice()
    device.answers["fabric"] = Fabric(2, 0, {})
    assert values(collect(device, "fabric")) == {metrics.FABRIC_STATE: 2}


def test_a_gpu_with_gpm_is_not_blocked_to_measure_pcie() -> None:
    device = FakeDevice()
    # The first look has nothing to compare with.
    device.answers |= {"activity": {}, "pcie_receiving_kilobytes_per_second": 7}
    assert values(collect(device, "pcie_rate")) == {}


def test_bytes_over_pcie_are_believed_once_they_cannot_be_of_32_bits() -> None:
    # What may begin anew within a second is no counter.
    collector, device = pcie.traffic(), FakeDevice()
    device.answers |= {"pcie_transmitted_bytes": 3_020_371_496, "pcie_received_bytes": 3_893_142_392}
    snapshot = collect_with(collector, device)
    assert values(snapshot) == {}
    assert capabilities(snapshot) == {"pcie_traffic": 0}
    device.answers |= {"pcie_received_bytes": 2**32}
    snapshot = collect_with(collector, device)
    assert values(snapshot) == {metrics.PCIE_TRANSMITTED: 3_020_371_496, metrics.PCIE_RECEIVED: 2**32}
    assert capabilities(snapshot) == {"pcie_traffic": 1}
    # Nor does it make another GPU's wide, nor does a driver that was loaded anew take it back.
    assert values(collect_with(collector, device_with(1, pcie_received_bytes=7))) == {}
    device.answers |= {"pcie_transmitted_bytes": 0, "pcie_received_bytes": 7}
    assert values(collect_with(collector, device))[metrics.PCIE_RECEIVED] == 7


def device_with(index: int, **answers: object) -> FakeDevice:
    device = FakeDevice(index)
    device.answers |= answers
    return device


def test_what_a_gpu_cannot_tell_is_said() -> None:
    names = (
        "platform",
        "ecc_sram",
        "repair",
        "inforom",
        "process_utilization",
        "fabric",
        "retired_pages",
        "c2c",
        "confidential_computing",
    )
    found = capabilities(collect(FakeDevice(), *names, "nvlink_links"))
    assert found == dict.fromkeys((*names, "nvlink"), 0)


def test_of_each_process_the_newest_sample_counts_and_none_counts_twice() -> None:
    collector, device = process_utilization.collector(Path("/nowhere")), FakeDevice()
    device.answers["process_use"] = [ProcessUse(1, 50, 100)]
    # What the driver remembers at the first look may be old.
    assert values(collect_with(collector, device)) == {}
    device.answers["process_use"] = [ProcessUse(1, 20, 300), ProcessUse(1, 90, 200), ProcessUse(2, 5, 150)]
    assert values(collect_with(collector, device)) == {
        (metrics.PROCESS_SM_UTILIZATION, "1", "", ""): 0.2,
        (metrics.PROCESS_SM_UTILIZATION, "2", "", ""): 0.05,
    }
    # Nothing new was sampled: what a process used before is not what it uses now.
    assert values(collect_with(collector, device)) == {}
    device.answers["process_use"] = [ProcessUse(1, 20, 300), ProcessUse(2, 7, 400)]
    assert values(collect_with(collector, device)) == {(metrics.PROCESS_SM_UTILIZATION, "2", "", ""): 0.07}
    device.answers["process_use"] = []
    assert values(collect_with(collector, device)) == {}


def test_a_use_that_cannot_be_is_rejected() -> None:
    collector, device, tally = process_utilization.collector(Path("/nowhere")), FakeDevice(), Tally()
    device.answers["process_use"] = []
    collect_with(collector, device)
    device.answers["process_use"] = [ProcessUse(4711, 2**32 - 1, 5)]
    assert values(collect_with(collector, device, tally)) == {}
    assert tally.rejected() == 1

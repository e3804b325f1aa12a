import logging
import time

import pytest
from gpu_fakes import DENIED, LOST, TRANSIENT, UNKNOWN, UNSUPPORTED, FakeDevice, capabilities, collect, values

from exporters.gpu import metrics, reasons
from exporters.gpu.answers import Memory, Utilization
from exporters.gpu.collectors import COLLECTORS
from exporters.gpu.collectors.clock_event_counters import NEW_IDS, OLD_IDS, slowdown_fields
from exporters.gpu.errors import GpuDeadError, UnknownError
from exporters.gpu.tally import Tally
from inferwatch.metric import Metric


def test_values_are_in_base_units() -> None:
    found = values(collect(FakeDevice()))
    assert found[metrics.UTILIZATION] == 0.4
    assert found[metrics.MEMORY_COPY_UTILIZATION] == 0.2
    assert found[metrics.MEMORY_TOTAL] == 1000
    assert found[metrics.MEMORY_RESERVED] == 100
    assert found[metrics.TEMPERATURE] == 50
    assert found[metrics.CLOCK, "sm"] == 1.5e9
    assert found[metrics.CLOCK_MAX, "memory"] == 1.98e9
    assert found[metrics.POWER_USAGE] == pytest.approx(300)
    assert found[metrics.POWER_LIMIT] == pytest.approx(700)
    assert found[metrics.POWER_LIMIT_ENFORCED] == pytest.approx(650)
    assert found[metrics.ENERGY] == pytest.approx(1234.567)
    assert found[metrics.CLOCKS_EVENT_SECONDS, "sw_power_cap"] == pytest.approx(1.5)
    assert found[metrics.INFO, "Fake GPU", "", "", "", "00000000:0F:00.0", "", "", "96.00", ""] == 1


@pytest.mark.parametrize("name", COLLECTORS)
def test_what_is_not_supported_is_absent_and_no_failure(name: str) -> None:
    device = FakeDevice()
    device.fault = UNSUPPORTED
    tally = Tally()
    snapshot = collect(device, name, tally=tally)
    assert values(snapshot) == {}
    assert set(capabilities(snapshot).values()) <= {0}
    assert snapshot.runs[name].success
    assert tally.errors() == {}


def test_one_unsupported_value_takes_no_other_away() -> None:
    device = FakeDevice()
    device.answers["utilization"] = UNSUPPORTED
    device.answers["power_limit"] = UNSUPPORTED
    found = values(collect(device))
    assert metrics.UTILIZATION not in found
    assert metrics.POWER_LIMIT not in found
    assert metrics.POWER_USAGE in found


def test_a_call_that_fails_once_is_counted_and_fails_its_collector_alone() -> None:
    device = FakeDevice()
    device.answers["temperature"] = TRANSIENT
    tally = Tally()
    snapshot = collect(device, tally=tally)
    assert metrics.TEMPERATURE not in values(snapshot)
    assert {name for name, run in snapshot.runs.items() if not run.success} == {"temperature"}
    assert tally.errors() == {("nvmlFake", "timeout"): 1}


def test_a_denied_call_is_said_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    device = FakeDevice()
    device.answers["memory"] = DENIED
    snapshot = collect(device)
    assert not snapshot.runs["memory"].success
    assert "no_permission" in caplog.text


def test_a_dead_gpu_ends_the_collection() -> None:
    device = FakeDevice()
    device.answers["power_usage"] = LOST
    tally = Tally()
    with pytest.raises(GpuDeadError):
        collect(device, tally=tally)
    assert tally.errors() == {("nvmlFake", "gpu_is_lost"): 1}


def test_a_gpu_that_answers_nothing_is_not_up() -> None:
    device = FakeDevice()
    device.fault = UNKNOWN
    with pytest.raises(UnknownError):
        collect(device)


def test_version_1_of_memory_has_no_reserved_bytes() -> None:
    device = FakeDevice()
    device.answers["memory"] = Memory(total=1000, used=400, free=600, reserved=None)
    found = values(collect(device, "memory"))
    assert found[metrics.MEMORY_USED] == 400
    assert metrics.MEMORY_RESERVED not in found


@pytest.mark.parametrize(
    ("method", "answer", "metric"),
    [
        ("utilization", Utilization(2**32 - 1, 20), metrics.UTILIZATION),
        ("memory", Memory(total=0, used=0, free=0, reserved=0), metrics.MEMORY_TOTAL),
        ("memory", Memory(total=1000, used=2**64 - 1, free=0, reserved=0), metrics.MEMORY_USED),
        ("temperature", 255, metrics.TEMPERATURE),
        ("power_usage", 2**32 - 1, metrics.POWER_USAGE),
        ("energy", 2**64 - 1, metrics.ENERGY),
    ],
)
def test_a_value_that_cannot_be_is_left_out_and_counted(
    method: str, answer: object, metric: Metric, caplog: pytest.LogCaptureFixture
) -> None:
    device = FakeDevice()
    device.answers[method] = answer
    tally = Tally()
    assert metric not in values(collect(device, tally=tally))
    assert tally.rejected() == 1
    assert metric.name in caplog.text


def test_a_gpu_without_memory_of_its_own_has_no_memory_series() -> None:
    device = FakeDevice()
    device.answers["memory"] = Memory(total=0, used=0, free=0, reserved=0)
    assert values(collect(device, "memory")) == {}


def test_each_reason_is_a_series() -> None:
    device = FakeDevice()
    device.answers["clocks_event_reasons"] = 0x48
    found = values(collect(device, "clock_events"))
    active = {key[1] for key, value in found.items() if value == 1}
    assert active == {"hw_slowdown", "hw_thermal_slowdown"}
    assert len(found) == 9


def test_only_supported_reasons_are_there() -> None:
    device = FakeDevice()
    device.answers["supported_clocks_event_reasons"] = reasons.BITS["sw_power_cap"]
    assert {key[1] for key in values(collect(device, "clock_events"))} == {"sw_power_cap"}


def test_a_driver_that_does_not_tell_its_reasons_has_the_common_ones() -> None:
    device = FakeDevice()
    device.answers["supported_clocks_event_reasons"] = UNSUPPORTED
    assert len(collect(device, "clock_events").samples) == 9


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        ("535.161.08", {}),
        ("570.172.08", {}),
        ("575.51.03", OLD_IDS),
        ("577.00", {}),
        ("580.65.06", OLD_IDS),
        ("580.66", {}),
        ("580.81", {}),
        ("580.82.07", NEW_IDS),
        ("580.126.09", NEW_IDS),
        ("590.48.01", NEW_IDS),
        ("", {}),
        ("unknown", {}),
    ],
)
def test_the_driver_version_decides_the_slowdown_counters(version: str, fields: dict[str, int]) -> None:
    assert slowdown_fields(version) == fields


BOTH_LAYOUTS = {74: 1 * 10**9, 75: 2 * 10**9, 76: 0} | {
    251: 2 * 10**9,
    252: 3 * 10**9,
    253: 4 * 10**9,
    269: 2 * 10**9,
    270: 5 * 10**9,
    271: 6 * 10**9,
}


@pytest.mark.parametrize(
    ("version", "hw_thermal"), [("575.51.03", 3.0), ("580.65.06", 3.0), ("580.82.07", 5.0), ("570.86.15", None)]
)
def test_counters_follow_the_driver(version: str, hw_thermal: float | None) -> None:
    device = FakeDevice(driver_version=version)
    device.answers["counters"] = BOTH_LAYOUTS
    found = values(collect(device, "clock_event_counters"))
    assert found[metrics.CLOCKS_EVENT_SECONDS, "sw_power_cap"] == pytest.approx(1)
    assert found.get((metrics.CLOCKS_EVENT_SECONDS, "hw_thermal_slowdown")) == (
        hw_thermal and pytest.approx(hw_thermal)
    )


def test_counters_that_contradict_each_other_are_withdrawn(caplog: pytest.LogCaptureFixture) -> None:
    device = FakeDevice()
    device.answers["counters"] = BOTH_LAYOUTS | {75: 60 * 10**9}
    found = values(collect(device, "clock_event_counters"))
    assert {key[1] for key in found} == {"sw_power_cap", "sync_boost"}
    assert "driver 580.126.09" in caplog.text


def test_a_counter_above_the_uptime_cannot_be() -> None:
    device = FakeDevice()
    uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
    device.answers["counters"] = BOTH_LAYOUTS | {270: round((uptime + 1000) * 1e9)}
    found = values(collect(device, "clock_event_counters"))
    assert (metrics.CLOCKS_EVENT_SECONDS, "hw_thermal_slowdown") not in found
    assert (metrics.CLOCKS_EVENT_SECONDS, "sw_thermal_slowdown") in found


def test_a_fault_of_ours_fails_one_collector_alone(caplog: pytest.LogCaptureFixture) -> None:
    device = FakeDevice()
    device.answers["temperature"] = "hot"
    with caplog.at_level(logging.ERROR):
        snapshot = collect(device)
    assert not snapshot.runs["temperature"].success
    assert metrics.POWER_USAGE in values(snapshot)
    assert "the collector temperature failed" in caplog.text

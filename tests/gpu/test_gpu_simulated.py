import logging
from pathlib import Path

import pytest
from gpu_fakes import collect, values
from hypothesis import given
from hypothesis import strategies as st

from exporters.gpu import metrics, reasons
from exporters.gpu.control import HEALTHY, ControlFile, Orders
from exporters.gpu.errors import GpuDeadError
from exporters.gpu.simulated import SimulatedDevice, SimulatedDriver, load


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def device(control: Path | None = None, clock: Clock | None = None) -> SimulatedDevice:
    return SimulatedDriver(1, ControlFile(control), clock or Clock()).device(0)


def test_everything_that_names_it_says_simulated() -> None:
    driver = SimulatedDriver(2, ControlFile(None), Clock())
    gpu = driver.device(1)
    assert gpu.uuid == "GPU-SIMULATED-1"
    assert gpu.fact("name").startswith("Simulated")
    assert "simulated" in driver.versions().driver
    assert driver.simulated


@given(index=st.integers(0, 63), at=st.floats(min_value=0, max_value=4e9))
def test_the_load_curve_stays_in_range_and_moves_slowly(index: int, at: float) -> None:
    assert 0.1 < load(index, at) < 1.0
    assert abs(load(index, at + 1) - load(index, at)) < 0.05


@given(at=st.floats(min_value=1e9, max_value=4e9))
def test_no_simulated_value_is_rejected(at: float) -> None:
    clock = Clock()
    clock.now = at
    snapshot = collect(device(clock=clock))  # type: ignore[arg-type]
    assert all(run.success for run in snapshot.runs.values())
    found = values(snapshot)
    assert 30 <= found[metrics.TEMPERATURE] <= 75
    assert found[metrics.POWER_USAGE] < found[metrics.POWER_LIMIT]
    assert found[metrics.MEMORY_USED] + found[metrics.MEMORY_FREE] + found[metrics.MEMORY_RESERVED] == pytest.approx(
        found[metrics.MEMORY_TOTAL]
    )


def test_the_window_follows_the_load_and_never_looks_ahead() -> None:
    clock = Clock()
    gpu = device(clock=clock)
    first = gpu.samples("utilization_percent", 0)
    assert 29 <= len(first) <= 31
    assert first[-1].microseconds <= clock.now * 1e6
    assert abs(first[-1].value - gpu.utilization().gpu) <= 3
    assert gpu.samples("utilization_percent", first[-1].microseconds) == []
    clock.now += 1
    assert len(gpu.samples("power_milliwatts", first[-1].microseconds)) == 2


def test_a_gpu_that_heats_up_has_less_margin(tmp_path: Path) -> None:
    file = tmp_path / "control.yml"
    file.write_text("{0: {temperature: 91}}")
    found = values(collect(device(file), "temperature"))
    assert found[metrics.TEMPERATURE_MARGIN] < 0
    assert found[metrics.MEMORY_TEMPERATURE] > 91


def test_energy_is_power_over_time() -> None:
    clock = Clock()
    gpu = device(clock=clock)
    watts = gpu.power_usage() / 1000
    clock.now += 1
    assert gpu.energy() / 1000 == pytest.approx(watts, rel=0.1)


def test_orders_throttle_heat_and_load(tmp_path: Path) -> None:
    file = tmp_path / "control.yml"
    file.write_text("{0: {throttle: [hw_thermal_slowdown, hw_slowdown], temperature: 91, utilization: 0.97}}")
    clock = Clock()
    gpu = device(file, clock)
    assert gpu.temperature() == 91
    assert gpu.utilization().gpu == 97
    assert set(reasons.names(gpu.clocks_event_reasons())) == {"hw_thermal_slowdown", "hw_slowdown"}
    assert gpu.clock("sm") < gpu.max_clock("sm")
    clock.now += 3
    found = values(collect(gpu, "clock_event_counters"))  # type: ignore[arg-type]
    assert found[metrics.CLOCKS_EVENT_SECONDS, "hw_thermal_slowdown"] == pytest.approx(3)
    assert found[metrics.CLOCKS_EVENT_SECONDS, "sw_power_cap"] == 0


def test_a_gpu_is_lost_and_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "control.yml"
    gpu = device(file)
    assert gpu.temperature() > 0
    file.write_text("{0: {lost: true}}")
    with pytest.raises(GpuDeadError) as lost:
        gpu.temperature()
    assert lost.value.code == 15
    file.unlink()
    assert gpu.temperature() > 0


def test_an_idle_gpu_says_so(tmp_path: Path) -> None:
    file = tmp_path / "control.yml"
    file.write_text("{0: {utilization: 0}}")
    assert reasons.names(device(file).clocks_event_reasons()) == ["gpu_idle"]


@pytest.mark.parametrize("text", ["", "{}", "# nothing ordered\n", "{1: {lost: true}}"])
def test_a_file_without_orders_leaves_the_gpu_healthy(text: str, tmp_path: Path) -> None:
    file = tmp_path / "control.yml"
    file.write_text(text)
    assert ControlFile(file).orders(0) == HEALTHY


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{0: [", "not YAML"),
        ("[1, 2]", "dictionary"),
        ("{0: {heat: 3}}", "0.heat"),
        ("{0: {throttle: [melting]}}", "hw_thermal_slowdown"),
        ("{0: {utilization: 97}}", "0.utilization"),
        ("{0: {temperature: hot}}", "0.temperature"),
        ("{-1: {lost: true}}", "-1"),
        ("\xff\xfe", "cannot be read"),
    ],
)
def test_a_broken_file_is_told_once_and_the_last_good_stays(
    text: str, says: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "control.yml"
    file.write_text("{0: {temperature: 91}}")
    control = ControlFile(file)
    assert control.orders(0).temperature == 91
    file.write_bytes(text.encode("latin-1"))
    with caplog.at_level(logging.WARNING):
        assert control.orders(0).temperature == 91
        assert control.orders(0).temperature == 91
    assert len(caplog.records) == 1
    assert says in caplog.text
    assert "the last good orders stay in force" in caplog.text
    file.write_text("{0: {temperature: 60, lost: false}}")
    assert control.orders(0).temperature == 60


TIMELINE = """
0:
- {at: 10s, temperature: 60}
- {at: 20s, temperature: 90, throttle: [hw_thermal_slowdown]}
- {at: 30s, xid: 79, lost: true}
- {at: 40s}
- {at: 1m, repeat: true}
"""


def test_a_timeline_is_played_and_repeated(tmp_path: Path) -> None:
    file = tmp_path / "control.yml"
    file.write_text(TIMELINE)
    clock = Clock()
    control = ControlFile(file, clock)
    assert control.orders(0) == HEALTHY
    began = clock.now

    def at(seconds: float) -> Orders:
        clock.now = began + seconds
        return control.orders(0)

    assert at(9.9) == HEALTHY
    assert at(10).temperature == 60
    assert at(15).temperature == 75
    assert at(15).throttle == ()
    assert at(20).throttle == ("hw_thermal_slowdown",)
    assert at(29.9).temperature == 90
    assert (at(30).xid, at(30).lost, at(39).lost) == (79, True, True)
    assert at(40).lost is False
    assert at(59).temperature is None
    assert at(60).temperature == 60
    assert at(85).lost is True
    assert control.orders(1) == HEALTHY


def test_each_step_reports_its_xid_once(tmp_path: Path) -> None:
    file = tmp_path / "control.yml"
    file.write_text(TIMELINE + "1: {xid: 31}")
    clock = Clock()
    driver = SimulatedDriver(2, ControlFile(file, clock), clock)

    def told() -> list[tuple[str, int]]:
        events = []
        while (event := driver.xid_events().wait(0)) is not None:
            events.append((event.uuid, event.xid))
        return events

    assert told() == [("GPU-SIMULATED-1", 31)]
    clock.now += 31
    assert told() == [("GPU-SIMULATED-0", 79)]
    clock.now += 5
    assert told() == []
    clock.now += 50
    assert told() == [("GPU-SIMULATED-0", 79)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{0: [{temperature: 60}]}", "at"),
        ("{0: [{at: 10s}, {at: 5s}]}", "later"),
        ("{0: [{at: 5}]}", "has no unit"),
        ("{0: [{at: 5s, repeat: true}, {at: 6s}]}", "repeat"),
        ("{0: {repeat: true}}", "repeat"),
        ("{0: [{at: soon}]}", "soon"),
        ("{0: [{at: 5s, xid: 0}]}", "xid"),
    ],
)
def test_a_broken_timeline_is_told(text: str, says: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "control.yml"
    file.write_text(text)
    assert ControlFile(file).orders(0) == HEALTHY
    assert says in caplog.text

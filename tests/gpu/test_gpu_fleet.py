import logging
import time
from collections.abc import Callable, Iterator

import pytest
from gpu_fakes import (
    ALL_COLLECTORS,
    LOST,
    NOT_LOADED,
    UNINITIALIZED,
    UNKNOWN,
    FakeDevice,
    FakeDriver,
    wait_until,
)
from prometheus_client import CollectorRegistry

from exporters.gpu import fleet as fleet_module
from exporters.gpu import metrics, reasons
from exporters.gpu import report as report_module
from exporters.gpu.fleet import Fleet
from exporters.gpu.registry import registry
from exporters.gpu.worker import Settings, Worker, next_due
from inferwatch.metric import Metric

Start = Callable[..., "Watched"]


class Watched:
    """A fleet at work and the registry that shows it."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.registry: CollectorRegistry = registry(fleet)

    def value(self, metric: Metric, gpu: int | str | None = None, **labels: str) -> float | None:
        if gpu is not None:
            labels = {"gpu": str(gpu), "uuid": f"GPU-{gpu}", **labels}
        return self.registry.get_sample_value(metric.name, labels)

    def wait_for(self, metric: Metric, expected: float | None, gpu: int | str | None = None, **labels: str) -> None:
        wait_until(lambda: self.value(metric, gpu, **labels) == expected)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setattr(fleet_module, "FIRST_RETRY_SECONDS", 0.05)
    started: list[Fleet] = []

    def begin(driver: FakeDriver, interval: float = 0.05, deadline: float = 30.0, hertz: float = 50.0) -> Watched:
        fleet = Fleet(driver, Settings(ALL_COLLECTORS, interval, deadline, hertz))
        started.append(fleet)
        fleet.start()
        return Watched(fleet)

    yield begin
    for fleet in started:
        fleet.stop()


def test_healthy_gpus_are_up(start: Start) -> None:
    driver = FakeDriver(FakeDevice(0), FakeDevice(1))
    watched = start(driver)
    watched.wait_for(metrics.UP, 1, gpu=0)
    watched.wait_for(metrics.UP, 1, gpu=1)
    watched.wait_for(metrics.CLOCKS_EVENT_EPISODES, 0, gpu=1, reason="hw_thermal_slowdown")
    assert watched.value(metrics.DEVICES) == 2
    assert watched.value(metrics.NVML_UP) == 1
    assert watched.value(metrics.LAST_ERROR_CODE, gpu=0) == 0
    assert watched.value(metrics.COLLECTOR_SUCCESS, collector="power") == 1
    assert watched.fleet.trouble() is None
    watched.fleet.stop()
    assert driver.closed == driver.opened == 1


def test_a_lost_gpu_is_down_and_shows_nothing_else_until_it_is_back(start: Start) -> None:
    good, bad = FakeDevice(0), FakeDevice(1)
    watched = start(FakeDriver(good, bad))
    watched.wait_for(metrics.TEMPERATURE, 50, gpu=1)
    bad.fault = LOST
    watched.wait_for(metrics.UP, 0, gpu=1)
    assert watched.value(metrics.LAST_ERROR_CODE, gpu=1) == 15
    assert watched.value(metrics.TEMPERATURE, gpu=1) is None
    assert watched.value(metrics.CLOCKS_EVENT_EPISODES, gpu=1, reason="hw_slowdown") is None
    assert watched.value(metrics.UP, gpu=0) == 1
    assert watched.value(metrics.COLLECTOR_SUCCESS, collector="power") == 1
    assert watched.fleet.trouble() is None
    bad.fault = None
    watched.wait_for(metrics.UP, 1, gpu=1)
    watched.wait_for(metrics.CLOCKS_EVENT_EPISODES, 0, gpu=1, reason="hw_slowdown")
    assert watched.value(metrics.LAST_ERROR_CODE, gpu=1) == 15


def test_a_gpu_that_was_lost_before_it_told_its_uuid_is_down(start: Start) -> None:
    driver = FakeDriver(FakeDevice(0), LOST)
    watched = start(driver)
    wait_until(lambda: watched.value(metrics.UP, gpu="1", uuid="") == 0)
    watched.wait_for(metrics.UP, 1, gpu=0)
    driver.devices[1] = FakeDevice(1)
    watched.wait_for(metrics.UP, 1, gpu=1)
    assert watched.value(metrics.UP, gpu="1", uuid="") is None


@pytest.mark.parametrize(
    ("now", "due"), [(100.0, 105.0), (100.2, 105.0), (105.0, 105.0), (105.1, 110.0), (131.0, 135.0)]
)
def test_gpus_stay_in_step_however_late_one_was(now: float, due: float) -> None:
    assert next_due(100.0, 5.0, now) == due


@pytest.mark.complaint(1)
def test_a_wedged_gpu_delays_no_other(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    good, bad = FakeDevice(0), FakeDevice(1)
    # The deadline leaves a machine under load the time to collect the good one.
    watched = start(FakeDriver(good, bad), deadline=2.0)
    watched.wait_for(metrics.UP, 1, gpu=1)
    bad.hang()
    watched.wait_for(metrics.STUCK, 1, gpu=1)
    assert watched.value(metrics.UP, gpu=1) == 0
    assert watched.value(metrics.POWER_USAGE, gpu=1) is None
    good.answers["temperature"] = 77
    watched.wait_for(metrics.TEMPERATURE, 77, gpu=0)
    wait_until(lambda: "GPU 1 (GPU-1) has not answered" in caplog.text)
    bad.resume()
    watched.wait_for(metrics.UP, 1, gpu=1)
    assert watched.value(metrics.STUCK, gpu=1) == 0


def test_a_collection_that_is_too_old_is_not_served() -> None:
    settings = Settings(ALL_COLLECTORS, interval=5, deadline=5, sampler_hertz=0)
    fleet = Fleet(FakeDriver(), settings)
    worker = Worker(0, FakeDriver(FakeDevice(0)), settings, fleet.tally)
    worker.start()
    wait_until(lambda: worker.outcome is not None)
    worker.stop()
    assert worker.join(30)
    assert worker.outcome is not None
    assert worker.fresh(worker.outcome.began + 9.9) is not None
    assert worker.fresh(worker.outcome.began + 10.1) is None


def test_the_sampler_sees_what_no_collection_saw(start: Start) -> None:
    device = FakeDevice(0)
    watched = start(FakeDriver(device), interval=3600.0)
    hot = {"gpu": 0, "reason": "hw_thermal_slowdown"}
    watched.wait_for(metrics.CLOCKS_EVENT_EPISODES, 0, **hot)
    began = time.monotonic()
    device.answers["clocks_event_reasons"] = reasons.BITS["hw_thermal_slowdown"]
    wait_until(lambda: (watched.value(metrics.CLOCKS_EVENT_SAMPLED_SECONDS, **hot) or 0) > 0)
    device.answers["clocks_event_reasons"] = 0
    watched.wait_for(metrics.CLOCKS_EVENT_EPISODES, 1, **hot)
    seconds = watched.value(metrics.CLOCKS_EVENT_SAMPLED_SECONDS, **hot)
    assert seconds is not None
    assert 0 < seconds < time.monotonic() - began
    assert watched.value(metrics.CLOCKS_EVENT_ACTIVE, **hot) == 0


def test_a_driver_that_appears_late_is_used(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    driver = FakeDriver(FakeDevice(0))
    driver.init_error = NOT_LOADED
    watched = start(driver)
    watched.wait_for(metrics.NVML_INIT_ERROR_CODE, 9)
    assert watched.value(metrics.NVML_UP) == 0
    assert watched.value(metrics.DEVICES) is None
    failed = {"function": "nvmlInit", "code": "driver_not_loaded"}
    wait_until(lambda: (watched.value(metrics.NVML_ERRORS, **failed) or 0) > 2)
    assert caplog.text.count("the NVIDIA driver is not loaded") == 1
    assert watched.fleet.trouble() is None
    driver.init_error = None
    watched.wait_for(metrics.UP, 1, gpu=0)
    assert watched.value(metrics.NVML_INIT_ERROR_CODE) == 0
    assert watched.value(metrics.NVML_REINITS) == 0


@pytest.mark.parametrize("fault", [UNINITIALIZED, UNKNOWN])
def test_a_driver_that_is_lost_is_initialised_again(start: Start, fault: Exception) -> None:
    devices = [FakeDevice(0), FakeDevice(1)]
    driver = FakeDriver(*devices)
    watched = start(driver)
    watched.wait_for(metrics.UP, 1, gpu=0)
    watched.wait_for(metrics.UP, 1, gpu=1)
    driver.init_error = NOT_LOADED
    for device in devices:
        device.fault = fault
    watched.wait_for(metrics.NVML_INIT_ERROR_CODE, 9)
    assert watched.value(metrics.NVML_UP) == 0
    assert watched.value(metrics.UP, gpu=0) == 0
    assert watched.value(metrics.UP, gpu=1) == 0
    for device in devices:
        device.fault = None
    driver.init_error = None
    watched.wait_for(metrics.UP, 1, gpu=0)
    watched.wait_for(metrics.UP, 1, gpu=1)
    assert watched.value(metrics.NVML_REINITS) == 1
    assert driver.opened - driver.closed == 1


def test_one_gpu_that_has_lost_its_driver_does_not_disturb_the_others(start: Start) -> None:
    bad = FakeDevice(1)
    watched = start(FakeDriver(FakeDevice(0), bad))
    watched.wait_for(metrics.UP, 1, gpu=0)
    bad.fault = UNINITIALIZED
    errors = {"function": "nvmlFake", "code": "uninitialized"}
    wait_until(lambda: (watched.value(metrics.NVML_ERRORS, **errors) or 0) > 5)
    assert watched.value(metrics.NVML_REINITS) == 0
    assert watched.value(metrics.UP, gpu=0) == 1


@pytest.mark.complaint(2)
def test_a_gpu_that_is_gone_after_a_new_start_stays_down_for_a_day(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays, goes = FakeDevice(0), FakeDevice(1)
    driver = FakeDriver(stays, goes)
    watched = start(driver)
    watched.wait_for(metrics.UP, 1, gpu=0)
    watched.wait_for(metrics.UP, 1, gpu=1)
    driver.devices = [stays]
    stays.fault = goes.fault = UNINITIALIZED
    wait_until(lambda: watched.value(metrics.NVML_REINITS) != 0)
    stays.fault = None
    watched.wait_for(metrics.UP, 1, gpu=0)
    wait_until(lambda: watched.value(metrics.DEVICES) == 1)
    assert watched.value(metrics.UP, gpu=1) == 0
    monkeypatch.setattr(report_module, "FORGET_SECONDS", 0.0)
    assert watched.value(metrics.UP, gpu=1) is None
    assert watched.value(metrics.UP, gpu=0) == 1


def test_a_gpu_that_is_lost_across_a_new_start_keeps_its_uuid(start: Start) -> None:
    devices = [FakeDevice(0), FakeDevice(1)]
    driver = FakeDriver(*devices)
    watched = start(driver)
    watched.wait_for(metrics.UP, 1, gpu=0)
    watched.wait_for(metrics.UP, 1, gpu=1)
    driver.devices[1] = LOST
    for device in devices:
        device.fault = UNINITIALIZED
    watched.wait_for(metrics.NVML_REINITS, 1)
    devices[0].fault = None
    watched.wait_for(metrics.UP, 1, gpu=0)
    watched.wait_for(metrics.LAST_ERROR_CODE, 15, gpu=1)
    assert watched.value(metrics.UP, gpu=1) == 0
    assert watched.value(metrics.UP, gpu="1", uuid="") is None


def test_a_collection_loop_that_ended_is_trouble(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    never_started = Fleet(FakeDriver(), Settings(ALL_COLLECTORS))
    assert "loop has ended" in (never_started.trouble() or "")
    monkeypatch.setattr(Worker, "_run", lambda _: None)
    watched = start(FakeDriver(FakeDevice(0)))
    wait_until(lambda: "GPU 0 has ended" in (watched.fleet.trouble() or ""))


def test_a_fault_of_ours_is_logged_and_the_gpu_is_down(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    driver = FakeDriver(FakeDevice(0))
    driver.devices.append(None)  # type: ignore[arg-type]
    with caplog.at_level(logging.ERROR):
        watched = start(driver)
        wait_until(lambda: watched.value(metrics.UP, gpu="1", uuid="") == 0)
    watched.wait_for(metrics.UP, 1, gpu=0)
    assert "fault of the exporter" in caplog.text


def test_a_stop_does_not_wait_for_a_call_that_hangs(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    device = FakeDevice(0)
    driver = FakeDriver(device)
    watched = start(driver, deadline=0.2)
    wait_until(lambda: driver.opened == 1)
    device.hang()
    wait_until(lambda: watched.value(metrics.STUCK, gpu=0) == 1 or watched.value(metrics.STUCK, gpu="0", uuid="") == 1)
    watched.fleet.stop()
    assert driver.closed == 0
    assert "hangs inside the driver" in caplog.text
    device.resume()

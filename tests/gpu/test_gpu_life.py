"""How GPUs and their driver come, go, sleep and hang."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gpu_fakes import ALL_COLLECTORS, LOST, NOT_LOADED, UNINITIALIZED, UNKNOWN, FakeDevice, FakeDriver, wait_until
from gpu_sysfs import add_gpu, set_power
from prometheus_client import CollectorRegistry

from exporters.gpu import expected as expected_module
from exporters.gpu import fleet as fleet_module
from exporters.gpu import last_resort, metrics
from exporters.gpu.errors import DriverError, LifecycleError
from exporters.gpu.expected import Expected
from exporters.gpu.fleet import Fleet
from exporters.gpu.last_resort import LastResort
from exporters.gpu.pci import PciBus
from exporters.gpu.registry import registry
from exporters.gpu.watchdog import Watchdog
from exporters.gpu.worker import Settings
from inferwatch.metric import Metric

MISMATCH = LifecycleError("nvmlInit", 18, "lib_rm_version_mismatch")


class Running:
    """A fleet at work, the registry that shows it, and its last words."""

    def __init__(self, driver: FakeDriver, expected: Expected | None, deadline: float) -> None:
        self.last_words: list[str] = []
        collectors = {"temperature": ALL_COLLECTORS["temperature"]}
        settings = Settings(collectors, interval=0.05, deadline=deadline, sampler_hertz=50)
        self.fleet = Fleet(driver, settings, expected, self.last_words.append)
        self.registry: CollectorRegistry = registry(self.fleet)
        self.fleet.start()

    def value(self, metric: Metric, gpu: int | None = None, **labels: str) -> float | None:
        if gpu is not None:
            labels = {"gpu": str(gpu), "uuid": f"GPU-{gpu}", **labels}
        return self.registry.get_sample_value(metric.name, labels)

    def wait_for(self, metric: Metric, wanted: float | None, gpu: int | None = None, **labels: str) -> None:
        wait_until(lambda: self.value(metric, gpu, **labels) == wanted)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Running]]:
    monkeypatch.setattr(fleet_module, "FIRST_RETRY_SECONDS", 0.02)
    monkeypatch.setattr(fleet_module, "LONGEST_RETRY_SECONDS", 0.1)
    monkeypatch.setattr(fleet_module, "RECOUNT_SECONDS", 0.05)
    monkeypatch.setattr(expected_module, "LOOK_EVERY_SECONDS", 0.02)
    started: list[Running] = []

    def start(driver: FakeDriver, expected: Expected | None = None, deadline: float = 30.0) -> Running:
        started.append(Running(driver, expected, deadline))
        return started[-1]

    yield start
    for one in started:
        one.fleet.stop()


Start = Callable[..., Running]


def test_gpus_found_stand_beside_gpus_expected(run: Start, tmp_path: Path) -> None:
    for bus in ("0f", "17"):
        add_gpu(tmp_path, f"0000:{bus}:00.0")
    add_gpu(tmp_path, "0000:1a:00.0", driver="vfio-pci")
    add_gpu(tmp_path, "0000:1b:00.0", status="suspended")
    add_gpu(tmp_path, "0000:1c:00.0", vendor="0x1002")
    running = run(FakeDriver(FakeDevice(0)), Expected(8, PciBus(tmp_path)))
    running.wait_for(metrics.DEVICES, 1)
    assert running.value(metrics.DEVICES_EXPECTED, source="config") == 8
    assert running.value(metrics.DEVICES_EXPECTED, source="pci") == 2
    assert running.value(metrics.SUSPENDED_DEVICES) == 1


@pytest.mark.parametrize(("visible", "counts"), [(None, {"pci": 1}), ("all", {"pci": 1}), ("0", {}), ("GPU-7", {})])
def test_a_container_with_some_gpus_expects_none_of_the_bus(
    visible: str | None, counts: dict[str, int], tmp_path: Path
) -> None:
    add_gpu(tmp_path, "0000:0f:00.0")
    expected = Expected(bus=PciBus(tmp_path, visible))
    expected.look()
    assert expected.counts() == counts


def test_a_machine_without_a_pci_bus_expects_nothing(tmp_path: Path) -> None:
    expected = Expected(bus=PciBus(tmp_path / "absent"))
    expected.look()
    assert expected.counts() == {}
    assert expected.asleep() is None


def test_a_gpu_that_is_added_is_collected(run: Start) -> None:
    driver = FakeDriver(FakeDevice(0))
    running = run(driver)
    running.wait_for(metrics.UP, 1, gpu=0)
    driver.devices.append(FakeDevice(1))
    running.wait_for(metrics.UP, 1, gpu=1)
    running.wait_for(metrics.UP, 1, gpu=0)
    assert running.value(metrics.DEVICES) == 2


def test_a_gpu_that_is_removed_stays_down(run: Start) -> None:
    driver = FakeDriver(FakeDevice(0), FakeDevice(1))
    running = run(driver)
    running.wait_for(metrics.UP, 1, gpu=0)
    running.wait_for(metrics.UP, 1, gpu=1)
    del driver.devices[1]
    running.wait_for(metrics.DEVICES, 1)
    running.wait_for(metrics.UP, 1, gpu=0)
    assert running.value(metrics.UP, gpu=1) == 0


def test_a_gpu_that_appears_on_the_bus_makes_nvml_start_anew(run: Start, tmp_path: Path) -> None:
    add_gpu(tmp_path, "0000:0f:00.0")
    driver = FakeDriver(FakeDevice(0))
    running = run(driver, Expected(bus=PciBus(tmp_path)))
    running.wait_for(metrics.UP, 1, gpu=0)
    add_gpu(tmp_path, "0000:17:00.0")
    running.wait_for(metrics.DEVICES_EXPECTED, 2, source="pci")
    running.wait_for(metrics.NVML_REINITS, 1)
    running.wait_for(metrics.UP, 1, gpu=0)


def test_a_sleeping_gpu_is_not_asked(run: Start, tmp_path: Path) -> None:
    folder = add_gpu(tmp_path, "0000:0f:00.0")
    add_gpu(tmp_path, "0000:17:00.0")
    device = FakeDevice(0)
    running = run(FakeDriver(device), Expected(bus=PciBus(tmp_path)))
    running.wait_for(metrics.TEMPERATURE, 50, gpu=0)
    assert running.value(metrics.SUSPENDED, gpu=0) == 0
    set_power(folder, "suspended")
    running.wait_for(metrics.SUSPENDED, 1, gpu=0)
    assert running.value(metrics.UP, gpu=0) is None
    assert running.value(metrics.TEMPERATURE, gpu=0) is None
    # From here on a call would be seen.
    device.answers["temperature"] = LOST
    device.answers["clocks_event_reasons"] = LOST
    before = running.fleet.report()[0].seconds
    wait_until(lambda: running.fleet.report()[0].seconds != before)
    assert running.value(metrics.LAST_ERROR_CODE, gpu=0) is None
    assert running.fleet.tally.errors() == {}
    device.answers["temperature"] = 44
    device.answers["clocks_event_reasons"] = 0
    set_power(folder, "active")
    running.wait_for(metrics.TEMPERATURE, 44, gpu=0)
    assert running.value(metrics.UP, gpu=0) == 1


def test_nvml_is_left_alone_while_every_gpu_sleeps(run: Start, tmp_path: Path) -> None:
    folder = add_gpu(tmp_path, "0000:0f:00.0", status="suspended")
    driver = FakeDriver(FakeDevice(0))
    running = run(driver, Expected(bus=PciBus(tmp_path)))
    running.wait_for(metrics.SUSPENDED_DEVICES, 1)
    assert running.value(metrics.DEVICES_EXPECTED, source="pci") == 0
    assert running.value(metrics.NVML_UP) == 0
    assert driver.opened == 0
    set_power(folder, "active")
    running.wait_for(metrics.UP, 1, gpu=0)


def test_a_release_drops_every_handle_until_the_gpus_are_taken_again(run: Start) -> None:
    driver = FakeDriver(FakeDevice(0), FakeDevice(1))
    running = run(driver)
    running.wait_for(metrics.UP, 1, gpu=1)
    assert running.value(metrics.RELEASED) == 0
    running.fleet.release()
    running.wait_for(metrics.RELEASED, 1)
    assert driver.opened == driver.closed == 1
    assert running.value(metrics.NVML_UP) == 0
    assert running.value(metrics.UP, gpu=0) is None
    assert running.fleet.trouble() is None
    running.fleet.resume()
    running.wait_for(metrics.UP, 1, gpu=0)
    running.wait_for(metrics.UP, 1, gpu=1)
    assert running.value(metrics.RELEASED) == 0


def test_a_gpu_that_does_not_come_back_from_maintenance_is_down(run: Start) -> None:
    driver = FakeDriver(FakeDevice(0), FakeDevice(1))
    running = run(driver)
    running.wait_for(metrics.UP, 1, gpu=1)
    running.fleet.release()
    running.wait_for(metrics.RELEASED, 1)
    del driver.devices[1]
    running.fleet.resume()
    running.wait_for(metrics.UP, 1, gpu=0)
    assert running.value(metrics.UP, gpu=1) == 0


def test_a_release_beneath_a_call_that_hangs_is_not_claimed(run: Start, caplog: pytest.LogCaptureFixture) -> None:
    device = FakeDevice(0)
    driver = FakeDriver(device)
    running = run(driver, deadline=0.2)
    running.wait_for(metrics.UP, 1, gpu=0)
    device.hang()
    running.wait_for(metrics.STUCK, 1, gpu=0)
    running.fleet.release()
    wait_until(lambda: "cannot be released" in caplog.text)
    assert running.value(metrics.RELEASED) == 0
    assert driver.closed == 0
    device.resume()


def test_every_gpu_lost_makes_nvml_start_anew(run: Start) -> None:
    devices = [FakeDevice(0), FakeDevice(1)]
    running = run(FakeDriver(*devices))
    running.wait_for(metrics.UP, 1, gpu=0)
    running.wait_for(metrics.UP, 1, gpu=1)
    for device in devices:
        device.fault = LOST
    wait_until(lambda: (running.value(metrics.NVML_REINITS) or 0) > 0)
    for device in devices:
        device.fault = None
    running.wait_for(metrics.UP, 1, gpu=0)
    assert running.last_words == []


def test_a_driver_that_was_upgraded_ends_the_process(run: Start) -> None:
    device = FakeDevice(0)
    driver = FakeDriver(device)
    running = run(driver)
    running.wait_for(metrics.UP, 1, gpu=0)
    device.fault = driver.init_error = MISMATCH
    wait_until(lambda: bool(running.last_words))
    assert "was upgraded under this process" in running.last_words[0]


def test_gpus_that_all_answer_unknown_error_end_the_process(run: Start) -> None:
    device = FakeDevice(0)
    running = run(FakeDriver(device))
    running.wait_for(metrics.UP, 1, gpu=0)
    device.fault = UNKNOWN
    wait_until(lambda: bool(running.last_words))
    assert "only a new start of the container" in running.last_words[0]


def attempts(resort: LastResort, errors: list[DriverError]) -> list[bool]:
    return [resort.only_a_new_process_helps(error, ever_opened=False, ever_up=False) for error in errors]


def test_what_a_new_process_cannot_help_is_tried_again_for_ever() -> None:
    said: list[str] = []
    assert not any(attempts(LastResort(said.append), [NOT_LOADED, UNINITIALIZED, LOST, UNKNOWN] * 50))
    assert said == []


def test_unknown_errors_in_a_row_are_the_last_resort() -> None:
    said: list[str] = []
    resort = LastResort(said.append)
    tries = last_resort.UNKNOWN_TRIES
    assert attempts(resort, [UNKNOWN] * tries) == [False] * (tries - 1) + [True]
    assert len(said) == 1


def test_a_mismatch_at_the_start_is_waited_out_for_a_while() -> None:
    said: list[str] = []
    now = [0.0]
    resort = LastResort(said.append, lambda: now[0])
    assert attempts(resort, [MISMATCH] * 5) == [False] * 5
    now[0] = last_resort.MISMATCH_PATIENCE_SECONDS
    assert attempts(resort, [MISMATCH]) == [True]


def test_a_call_that_hangs_while_no_other_gpu_answers_is_hopeless(run: Start) -> None:
    wedged, lost = FakeDevice(0), FakeDevice(1)
    running = run(FakeDriver(wedged, lost), deadline=0.2)
    running.wait_for(metrics.UP, 1, gpu=0)
    running.wait_for(metrics.UP, 1, gpu=1)
    wedged.hang()
    running.wait_for(metrics.STUCK, 1, gpu=0)
    later = time.monotonic() + fleet_module.HOPELESS_SECONDS + 1
    # Far ahead of time the other one's last collection is too old as well, so that only its being fresh now counts.
    assert running.fleet.hopeless(time.monotonic()) is None
    lost.fault = LOST
    running.wait_for(metrics.UP, 0, gpu=1)
    assert running.fleet.hopeless(time.monotonic()) is None
    assert "GPU 0 (GPU-0) has hung inside the driver" in (running.fleet.hopeless(later) or "")
    wedged.resume()


def test_the_watchdog_says_why_and_ends_once() -> None:
    said: list[str] = []
    watchdog = Watchdog(lambda _: "it is of no use", said.append)
    watchdog.start()
    wait_until(lambda: said == ["it is of no use"])
    watchdog.stop()

"""NVML opened and shut down: what it says when it fails, and what is seen of a call that hangs."""

import threading

import pytest
from gpu_fakes import NOT_LOADED, UNKNOWN, FakeDevice, FakeDriver, again, wait_until

from exporters.gpu.answers import Versions
from exporters.gpu.errors import DriverError
from exporters.gpu.library import Library, Opened
from exporters.gpu.tally import Tally


class Unversioned(FakeDriver):
    """Opens, and then does not say what it is."""

    def versions(self) -> Versions:
        raise again(UNKNOWN)


class Hanging(FakeDriver):
    """Hangs in `open` until `gate` is set."""

    def __init__(self) -> None:
        super().__init__(FakeDevice(0))
        self.gate = threading.Event()

    def open(self) -> None:
        self.gate.wait()
        super().open()


def test_it_is_held_from_open_to_close() -> None:
    driver = FakeDriver(FakeDevice(0), FakeDevice(1))
    library = Library(driver, Tally())
    assert library.open() == Opened(driver.versions(), 2)
    assert (library.held, library.opened, library.error_code) == (True, 1, 0)
    assert library.count() == 2
    library.close()
    assert not library.held
    assert driver.closed == 1


def test_why_it_does_not_open_is_told_once_and_counted_each_time(caplog: pytest.LogCaptureFixture) -> None:
    driver, tally = FakeDriver(), Tally()
    library = Library(driver, tally)
    driver.init_error = NOT_LOADED
    for _ in range(3):
        assert isinstance(library.open(), DriverError)
    assert library.error_code == 9
    assert not library.held
    assert tally.errors() == {("nvmlInit", "driver_not_loaded"): 3}
    assert caplog.text.count("the NVIDIA driver is not loaded") == 1


def test_what_opens_but_does_not_say_what_it_is_is_shut_down_again() -> None:
    driver = Unversioned(FakeDevice(0))
    library = Library(driver, Tally())
    assert isinstance(library.open(), DriverError)
    assert (driver.opened, driver.closed) == (1, 1)
    assert not library.held


def test_a_call_that_hangs_is_seen_from_another_thread() -> None:
    driver, now = Hanging(), [100.0]
    library = Library(driver, Tally(), clock=lambda: now[0])
    assert library.hung(60, 1000.0) is None
    opening = threading.Thread(target=library.open)
    opening.start()
    wait_until(lambda: library._asked is not None)
    assert library.hung(60, 160.0) is None
    assert library.hung(60, 161.0) == "NVML has hung for 61 s while it was to initialise"
    driver.gate.set()
    opening.join()
    assert library.hung(60, 1000.0) is None

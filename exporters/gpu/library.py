"""NVML itself, opened and shut down again and again: why it does not open, and a call on the way that hangs."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from exporters.gpu import advice
from exporters.gpu.answers import Versions
from exporters.gpu.driver import Driver
from exporters.gpu.errors import DriverError
from exporters.gpu.tally import Tally

log = logging.getLogger(__name__)


class Opened(NamedTuple):
    """What NVML said when it was opened: its versions, and how many GPUs there are."""

    versions: Versions
    devices: int


class Library:
    """Opens a driver's library and shuts it down, on one thread; any thread may look.

    Args:
        driver: What is opened.
        tally: Counts what fails.
        clock: The monotonic clock.

    Attributes:
        error_code: What the last attempt to open it returned; 0 for success.
        opened: How often it was opened.
        held: Whether it is open, or could not be shut down beneath a call that hangs.
    """

    def __init__(self, driver: Driver, tally: Tally, clock: Callable[[], float] = time.monotonic) -> None:
        self.error_code = 0
        self.opened = 0
        self.held = False
        self._driver = driver
        self._tally = tally
        self._clock = clock
        # What is asked of it now, and since when.
        self._asked: tuple[str, float] | None = None

    def open(self) -> Opened | DriverError:
        """Open it; return why it cannot be opened, which is told once in the log."""
        try:
            with self._asking("initialise"):
                self._driver.open()
                try:
                    found = Opened(self._driver.versions(), self._driver.device_count())
                except DriverError:
                    self._shut_down()
                    raise
        except DriverError as error:
            self._tally.failed(error)
            if error.code != self.error_code:
                log.error("%s. Trying again, at least once a minute", advice.sentence(error))
            self.error_code = error.code
            return error
        self.opened += 1
        self.held = True
        self.error_code = 0
        what = "simulating" if self._driver.simulated else "collecting"
        log.info("%s %d GPU(s), driver %s", what, found.devices, found.versions.driver or "?")
        return found

    def count(self) -> int | None:
        """Return how many GPUs there are now; None when it does not say."""
        with self._asking("count the GPUs"):
            try:
                return self._driver.device_count()
            except DriverError as error:
                self._tally.failed(error)
                return None

    def close(self) -> None:
        """Shut it down; no call may be inside it."""
        with self._asking("shut down"):
            self._shut_down()
        self.held = False

    def hung(self, longest: float, now: float) -> str | None:
        """Return what it was asked if that has taken more than so many seconds, or None."""
        asked = self._asked
        if asked is None or now - asked[1] <= longest:
            return None
        return f"NVML has hung for {now - asked[1]:.0f} s while it was to {asked[0]}"

    def _shut_down(self) -> None:
        try:
            self._driver.close()
        except DriverError as error:
            self._tally.failed(error)
            log.warning("NVML was not shut down: %s", error)

    @contextmanager
    def _asking(self, what: str) -> Iterator[None]:
        self._asked = (what, self._clock())
        try:
            yield
        finally:
            self._asked = None

"""Where XIDs come from: a thread that waits for the driver's events, and the kernel's log."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from exporters.gpu.answers import GpuEvent, XidEvent
from exporters.gpu.driver import Device, Driver, XidEvents
from exporters.gpu.errors import DriverError, UnsupportedError
from exporters.gpu.tally import Tally
from exporters.gpu.xid import catalogue
from exporters.gpu.xid.incidents import Incidents, Source
from exporters.gpu.xid.kernel_log import Address, KernelLog, LogLine

log = logging.getLogger(__name__)

WAIT_SECONDS = 1.0
# An error comes back at once, so that without a pause the loop would be hot for as long as it lasts.
PAUSE_AFTER_ERROR_SECONDS = 1.0


class XidWatch:
    """Counts the XIDs of every GPU, from as many sources as can be read.

    Args:
        driver: Whose events are counted while it is open.
        tally: Counts the errors of waiting.
        kmsg: The kernel's log; None reads none.
        uuid_at: Returns the uuid of the GPU at a PCI address, or None when there is none.
    """

    def __init__(
        self, driver: Driver, tally: Tally, kmsg: Path | None, uuid_at: Callable[[Address], str | None]
    ) -> None:
        self.incidents = Incidents()
        self._driver = driver
        self._own: Source = "simulated" if driver.simulated else "nvml"
        self._tally = tally
        self._uuid_at = uuid_at
        self._kernel_log = KernelLog(kmsg, self._from_log) if kmsg is not None else None
        self._stream: _Stream | None = None

    def start(self) -> None:
        """Begin to read the kernel's log."""
        if self._kernel_log:
            self._kernel_log.start()

    def stop(self) -> None:
        """End what `start` began."""
        if self._kernel_log:
            self._kernel_log.stop()

    def sources(self) -> dict[Source, bool]:
        """Return which sources there may be and whether they are live."""
        stream = self._stream
        found: dict[Source, bool] = {self._own: stream is not None and stream.live}
        if self._own == "nvml":
            found["kmsg"] = self._kernel_log is not None and self._kernel_log.live
        return found

    def open(self) -> None:
        """Wait for the driver's events; it has just been initialised."""
        try:
            events = self._driver.xid_events()
        except UnsupportedError as error:
            log.info("XIDs are not read from NVML: %s", error)
            return
        except DriverError as error:
            self._tally.failed(error)
            log.warning("XIDs are not read from NVML: %s", error)
            return
        self._stream = _Stream(events, self._tally, self._from_driver)

    def close(self, timeout: float) -> bool:
        """Wait no longer, before the driver is shut down; return whether the thread ended in time."""
        stream, self._stream = self._stream, None
        return stream is None or stream.close(timeout)

    def watch(self, device: Device) -> None:
        """Report this GPU's XIDs; called on the thread that collects it, for the call may hang."""
        stream = self._stream
        if stream is not None:
            stream.watch(device)

    def _from_driver(self, event: XidEvent | GpuEvent) -> None:
        gpu = event.uuid or "(not told which)"
        if isinstance(event, GpuEvent):
            # Counted, and no more: a single event says little, and corrected errors can come by the thousand.
            log.debug("GPU %s: the driver reports %s", gpu, event.what)
            if event.uuid:
                self.incidents.happened(event.uuid, event.what)
            return
        log.warning("GPU %s: %s", gpu, catalogue.sentence(event.xid))
        if event.uuid:
            self.incidents.from_driver(event.uuid, event.xid, self._own)

    def _from_log(self, line: LogLine) -> None:
        uuid = self._uuid_at(line.address)
        where = "{:04x}:{:02x}:{:02x}".format(*line.address)
        if uuid is None:
            log.warning(
                "the kernel's log tells of %s at PCI %s, where NVML shows this exporter no GPU; it is not counted",
                catalogue.sentence(line.xid),
                where,
            )
            return
        log.warning("GPU %s: %s, says the kernel's log (PCI %s)", uuid, catalogue.sentence(line.xid), where)
        self.incidents.from_log(uuid, line.xid)


class _Stream:
    """One stream of events and the thread that waits for them."""

    def __init__(self, events: XidEvents, tally: Tally, tell: Callable[[XidEvent | GpuEvent], None]) -> None:
        self.live = True
        self._events = events
        self._tally = tally
        self._tell = tell
        self._stop = threading.Event()
        self._unsupported: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="xid-events", daemon=True)
        self._thread.start()

    def watch(self, device: Device) -> None:
        if device.uuid in self._unsupported:
            return
        try:
            self._events.watch(device)
        except UnsupportedError as error:
            self._unsupported.add(device.uuid)
            log.info("GPU %s does not report XIDs through NVML: %s", device.uuid, error)
        except DriverError as error:
            self._tally.failed(error)

    def close(self, timeout: float) -> bool:
        self._stop.set()
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        try:
            self._events.close()
        except DriverError as error:
            self._tally.failed(error)
        return True

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                event = self._events.wait(WAIT_SECONDS)
            except DriverError as error:
                self._tally.failed(error)
                self.live = False
                self._stop.wait(PAUSE_AFTER_ERROR_SECONDS)
                continue
            self.live = True
            if event is not None:
                self._tell(event)

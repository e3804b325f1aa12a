"""The XIDs that simulated GPUs are ordered to report: each once, when the step that orders it begins."""

import threading
import time
from collections.abc import Hashable

from exporters.gpu.answers import XidEvent
from exporters.gpu.control import ControlFile
from exporters.gpu.driver import Device

LOOK_EVERY_SECONDS = 0.2


class SimulatedXids:
    """The stream of all simulated GPUs; it outlives a new start of the driver, so that no order is reported twice."""

    def __init__(self, uuids: list[str], control: ControlFile) -> None:
        self._uuids = uuids
        self._control = control
        self._seen: dict[str, Hashable] = {}
        self._tick = threading.Event()

    def watch(self, device: Device) -> None:
        """Do nothing: every simulated GPU is watched."""

    def wait(self, seconds: float) -> XidEvent | None:
        """Return the next XID, or None when none came."""
        until = time.monotonic() + seconds
        while True:
            event = self._next()
            left = until - time.monotonic()
            if event is not None or left <= 0:
                return event
            self._tick.wait(min(LOOK_EVERY_SECONDS, left))

    def close(self) -> None:
        """Do nothing: there is no library."""

    def _next(self) -> XidEvent | None:
        for index, uuid in enumerate(self._uuids):
            moment = self._control.moment(index)
            if self._seen.get(uuid) == moment.step:
                continue
            self._seen[uuid] = moment.step
            if moment.orders.xid is not None:
                return XidEvent(uuid, moment.orders.xid)
        return None

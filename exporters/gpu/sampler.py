"""The thread that looks at one GPU's clock-event reasons many times a second.

A scrape sees the state at one instant: a slowdown of 300 ms is in a 15 s scrape with a chance of 2 %. Reading the
mask takes microseconds, so it is read at 10 Hz and integrated.
"""

import logging
import threading
import time

from exporters.gpu import reasons
from exporters.gpu.collection import Notices
from exporters.gpu.driver import Device
from exporters.gpu.errors import DriverError, PermissionDeniedError, UnsupportedError
from exporters.gpu.integrator import ReasonIntegrator

log = logging.getLogger(__name__)

# A sampler that comes late by more than this many periods counts only so many.
GAP_PERIODS = 5


class ReasonSampler:
    """Samples the device that it is given into that GPU's integrator.

    Args:
        gpu: The index, for log lines and the thread's name.
        hertz: Samples a second.
        integrators: By uuid; they outlive this sampler, so that the counters go on after NVML was initialised again.
    """

    def __init__(self, gpu: str, hertz: float, integrators: dict[str, ReasonIntegrator]) -> None:
        self._gpu = gpu
        self._notices = Notices(gpu)
        self._period = 1 / hertz
        self._integrators = integrators
        self._device: Device | None = None
        self._stop = threading.Event()
        self._given = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"sampler-{gpu}", daemon=True)

    def stop(self) -> None:
        """Ask the thread to end; it does so when the call that it is in returns."""
        self._stop.set()
        self._given.set()

    def sample_from(self, device: Device | None) -> None:
        """Sample this device from now on, or none."""
        if device is not self._device:
            self._device = device
            self._given.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            device = self._device
            if device is None:
                self._given.wait()
                self._given.clear()
            else:
                self._sample(device)

    def _sample(self, device: Device) -> None:
        """Sample this device until another is given, it fails, or the exporter stops."""
        try:
            integrator = self._integrator(device)
            try:
                self._integrate(device, integrator)
            finally:
                integrator.interrupt()
        except (UnsupportedError, PermissionDeniedError) as error:
            self._notices.warn("reasons", f"its clock-event reasons are not sampled: {error}")
        except DriverError as error:
            log.debug("GPU %s is not sampled until its next good collection: %s", self._gpu, error)
        if self._device is device:
            self._device = None

    def _integrate(self, device: Device, integrator: ReasonIntegrator) -> None:
        due = time.monotonic()
        while True:
            mask = device.clocks_event_reasons()
            now = time.monotonic()
            # The call may have hung for long, and this GPU be somebody else's by now.
            if self._stop.is_set() or self._device is not device:
                return
            integrator.observe(mask, now)
            due = due + self._period if now < due + self._period else now + self._period
            self._stop.wait(due - now)

    def _integrator(self, device: Device) -> ReasonIntegrator:
        try:
            supported = device.supported_clocks_event_reasons()
        except (UnsupportedError, PermissionDeniedError):
            supported = reasons.COMMON
        fresh = ReasonIntegrator(supported, GAP_PERIODS * self._period)
        return self._integrators.setdefault(device.uuid, fresh)

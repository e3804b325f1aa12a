"""The thread that collects one GPU, so that one that hangs or is lost delays no other."""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from exporters.gpu.collection import Collect, Collection, Notices, Snapshot
from exporters.gpu.driver import Device, Driver
from exporters.gpu.errors import DriverError, PermissionDeniedError, TransientError, UnsupportedError
from exporters.gpu.tally import Tally

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """How to collect.

    Attributes:
        collectors: The collectors to run, by name.
        interval: Seconds between the beginnings of two collections of one GPU.
        deadline: Seconds that one collection may take before the GPU counts as stuck.
        sampler_hertz: Samples of the clock-event reasons a second; 0 takes none.
        kmsg: The kernel's log, which tells of XIDs; None reads none.
    """

    collectors: Mapping[str, Collect]
    interval: float = 5.0
    deadline: float = 5.0
    sampler_hertz: float = 10.0
    kmsg: Path | None = None

    @property
    def longest_age(self) -> float:
        """The age in seconds at which a collection is too old to be served, since the next one is overdue."""
        return self.interval + self.deadline


@dataclass(frozen=True)
class Outcome:
    """How one collection ended.

    Attributes:
        began: When it began, on the monotonic clock.
        seconds: How long it took.
        snapshot: What it found; None when it failed.
        error: Why it failed; None when the fault was the exporter's own, or when the GPU sleeps.
        suspended: Whether it sleeps and was left alone; None where the kernel does not say.
    """

    began: float
    seconds: float
    snapshot: Snapshot | None
    error: DriverError | None
    suspended: bool | None = None


def next_due(due: float, interval: float, now: float) -> float:
    """Return when the cycle after the one that was due then is to begin.

    A cycle that comes late is not made up for, and the next is on the beat again: GPUs that began together stay in
    step, so that one rendering is of all of them.
    """
    return due + interval * max(math.ceil((now - due) / interval), 1)


class Worker:
    """Collects the GPU at one index at an interval, and says which device of it to sample.

    Args:
        index: NVML's.
        driver: Opens it.
        settings: How to collect.
        tally: Counts what fails.
        sample: Told after each collection which device of this GPU is to be sampled from now on, if any.
        watch_xids: Told of the GPU when it was opened.
        sleeps: Returns whether the GPU at a PCI address is suspended, or None where the kernel does not say.
        ended: Told whenever a collection has ended.
    """

    def __init__(
        self,
        index: int,
        driver: Driver,
        settings: Settings,
        tally: Tally,
        sample: Callable[[str, Device | None], None] = lambda _, __: None,
        watch_xids: Callable[[Device], None] = lambda _: None,
        sleeps: Callable[[str], bool | None] = lambda _: None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self.gpu = str(index)
        self.uuid: str | None = None
        self.pci: str | None = None
        self.outcome: Outcome | None = None
        self.last_success: float | None = None
        self.last_error_code = 0
        self._index = index
        self._driver = driver
        self._settings = settings
        self._tally = tally
        self._watch_xids = watch_xids
        self._sleeps = sleeps
        self._ended = ended
        self._notices = Notices(self.gpu)
        self._device: Device | None = None
        self._busy_since: float | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"gpu-{index}", daemon=True)
        self._sample = sample

    def start(self) -> None:
        """Begin to collect."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; it does so when the call that it is in returns."""
        self._stop.set()

    def join(self, timeout: float) -> bool:
        """Wait for the thread to end and return whether it did."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def died(self) -> bool:
        """Return whether the thread ended that nobody asked to end."""
        return not self._stop.is_set() and not self._thread.is_alive()

    def stuck_for(self, now: float) -> float:
        """Return for how many seconds a collection has been past its deadline; 0 when none is."""
        since = self._busy_since
        return max(now - since - self._settings.deadline, 0.0) if since is not None else 0.0

    def fresh(self, now: float) -> Snapshot | None:
        """Return what the last collection found, or None when it failed, is too old, or the GPU is stuck."""
        outcome = self.outcome
        if outcome is None or self.stuck_for(now) or now - outcome.began > self._settings.longest_age:
            return None
        return outcome.snapshot

    def suspended(self, now: float) -> bool | None:
        """Return whether the GPU was asleep when it was last to be collected; None where the kernel does not say."""
        outcome = self.outcome
        if outcome is None or self.stuck_for(now):
            return None
        return outcome.suspended

    def good_until(self, now: float) -> float | None:
        """Return when what is reported now ceases to be true by itself, on the monotonic clock.

        A collection that hangs turns into a stuck one at its deadline, and a result into one that is too old.
        """
        outcome, since = self.outcome, self._busy_since
        ends = [outcome.began + self._settings.longest_age] if outcome else []
        if since is not None:
            ends.append(since + self._settings.deadline)
        ahead = [end for end in ends if end > now]
        return min(ahead) if ahead else None

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            self._cycle()
            due = next_due(due, self._settings.interval, time.monotonic())
            self._stop.wait(due - time.monotonic())

    def _cycle(self) -> None:
        began = time.monotonic()
        self._busy_since = began
        snapshot, error, suspended = None, None, None
        try:
            # Any call would wake it.
            suspended = self._sleeps(self.pci) if self.pci else None
            snapshot = None if suspended else self._collect()
            if suspended is None and self.pci and self._sleeps(self.pci) is not None:
                suspended = False  # it was opened just now, and is awake
        except DriverError as failure:
            error = failure
        except Exception:
            if self._notices.first("fault"):
                log.exception(
                    "GPU %s: the collection failed; this is a fault of the exporter, please report it", self.gpu
                )
        finally:
            outcome = Outcome(began, time.monotonic() - began, snapshot, error, suspended)
            self._busy_since = None
        if not self._stop.is_set():
            self._end(outcome)
            self._ended()

    def _collect(self) -> Snapshot:
        if self._device is None:
            self._device = self._open()
            self.uuid = self._device.uuid
            self._watch_xids(self._device)
        return Collection(self._device, self._notices, self._tally).run(self._settings.collectors)

    def _open(self) -> Device:
        try:
            device = self._driver.device(self._index)
            with suppress(UnsupportedError, PermissionDeniedError, TransientError):
                self.pci = device.fact("pci_bus_id")
        except DriverError as error:
            self._tally.failed(error)
            raise
        return device

    def _end(self, outcome: Outcome) -> None:
        before, self.outcome = self.outcome, outcome
        if outcome.suspended:
            if before is None or not before.suspended:
                log.info("GPU %s (%s) sleeps, and is not asked until it is awake", self.gpu, self.uuid)
        elif outcome.snapshot is None:
            # A handle may be the reason, so that the next cycle takes a new one.
            self._device = None
            self._tell_failure(before, outcome.error)
        else:
            self.last_success = time.time()
            if before and before.snapshot is None and not before.suspended:
                log.info("GPU %s (%s) answers again", self.gpu, self.uuid)
        self._sample(self.gpu, None if outcome.suspended else self._device)

    def _tell_failure(self, before: Outcome | None, error: DriverError | None) -> None:
        if error is None:
            return
        self.last_error_code = error.code
        if before is None or before.error is None or before.error.code != error.code:
            log.warning(
                "GPU %s (%s) cannot be collected: %s; gpu_up is 0 until it answers, the other GPUs go on. "
                "The kernel's log (dmesg, lines with NVRM: Xid) says more",
                self.gpu,
                self.uuid or "uuid not known",
                error,
            )

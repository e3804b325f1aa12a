"""Every GPU of this machine: NVML's life from start to loss and back, and a worker for each GPU."""

import logging
import math
import threading
import time
from typing import Literal, NamedTuple

from exporters.gpu import advice, roll_call
from exporters.gpu.answers import Versions
from exporters.gpu.driver import Driver
from exporters.gpu.errors import DriverError
from exporters.gpu.expected import Expected
from exporters.gpu.integrator import ReasonIntegrator
from exporters.gpu.last_resort import LastResort
from exporters.gpu.library import Library, Opened
from exporters.gpu.report import GpuReport, Vanished
from exporters.gpu.sampler import ReasonSampler
from exporters.gpu.session import Session
from exporters.gpu.tally import Tally
from exporters.gpu.watchdog import End, end_process
from exporters.gpu.worker import Settings, Worker
from exporters.gpu.xid.kernel_log import Address, address
from exporters.gpu.xid.watch import XidWatch

log = logging.getLogger(__name__)

FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 60.0
RECOUNT_SECONDS = 10.0
# How long a call may hang, with no GPU answering, before this process is of no more use.
HOPELESS_SECONDS = 60.0

Ended = Literal["stopped", "released", "changed", "lost"]


class Watched(NamedTuple):
    """Why NVML is to be shut down, whether a GPU was ever up since it was initialised, and the error if it was lost."""

    ended: Ended
    ever_up: bool
    error: DriverError | None = None


class Fleet:
    """Collects every GPU in the background, from `start` to `stop`."""

    def __init__(
        self,
        driver: Driver,
        settings: Settings,
        expected: Expected | None = None,
        end: End = end_process,
    ) -> None:
        self.tally = Tally()
        self.simulated = driver.simulated
        self.released = False
        self.expected = expected or Expected()
        self.xids = XidWatch(driver, self.tally, settings.kmsg, self._uuid_at)
        # Set whenever there is something new to show.
        self.changed = threading.Event()
        self._driver = driver
        self._settings = settings
        self._session: Session | None = None
        self._vanished = Vanished()
        # They outlive a session, so that the counters go on.
        self._integrators: dict[str, ReasonIntegrator] = {}
        self._library = Library(driver, self.tally)
        self._last_resort = LastResort(end)
        self._stop = threading.Event()
        self._release_wanted = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fleet", daemon=True)

    @property
    def nvml_up(self) -> bool:
        """Whether NVML is initialised."""
        return self._session is not None

    @property
    def init_error_code(self) -> int:
        """What the last attempt to initialise NVML returned; 0 for success."""
        return self._library.error_code

    @property
    def reinits(self) -> int:
        """How often NVML was initialised again."""
        return max(self._library.opened - 1, 0)

    @property
    def versions(self) -> Versions | None:
        """The driver's versions; None while NVML is not initialised."""
        session = self._session
        return session.versions if session else None

    @property
    def _workers(self) -> tuple[Worker, ...]:
        session = self._session
        return session.workers if session else ()

    def start(self) -> None:
        """Begin to collect."""
        self.expected.look()
        self.xids.start()
        self._thread.start()

    def stop(self) -> None:
        """End; a thread that hangs inside the driver is left behind after the deadline."""
        self._stop.set()
        self._wake.set()
        self._thread.join(self._settings.deadline + 1.0)
        self.xids.stop()

    def release(self) -> None:
        """Let go of every GPU for maintenance, until `resume`; `released` says when it is done."""
        log.info("asked to release the GPUs")
        self._release_wanted.set()
        self._wake.set()

    def resume(self) -> None:
        """Take the GPUs again."""
        log.info("asked to take the GPUs again")
        self._release_wanted.clear()
        self._wake.set()

    def trouble(self) -> str | None:
        """Return what is wrong with the exporter itself, or None; a lost GPU or driver is not the exporter's fault."""
        if not self._thread.is_alive():
            return "the collection loop has ended; restart the exporter, its log says why"
        session = self._session
        return session.trouble() if session else None

    def hopeless(self, now: float) -> str | None:
        """Return why only a new process can help: a call hangs in the driver and no GPU answers any more."""
        session = self._session
        if self._stop.is_set() or (session and session.up(now)):
            return None
        hung = session.hung(HOPELESS_SECONDS, now) if session else None
        if hung is not None:
            return f"{hung}, and no other GPU answers"
        hung = self._library.hung(HOPELESS_SECONDS, now)
        return f"{hung}, and no GPU answers" if hung is not None else None

    def report(self) -> list[GpuReport]:
        """Return every GPU that is here or was here in the last day; none while they are released."""
        if self.released:
            return []
        now = time.monotonic()
        workers = self._workers
        gone = self._vanished.without({worker.uuid for worker in workers if worker.uuid}, now)
        sampled_since = now - self._settings.longest_age
        reports = list(roll_call.present(workers, gone, self._integrators, sampled_since, now))
        named = {report.uuid for report in reports}
        return reports + [last for uuid, last in gone.items() if uuid not in named]

    def good_until(self) -> float:
        """Return until when what is reported now stays true by itself, on the monotonic clock."""
        ends = (report.good_until for report in self.report())
        return min((end for end in ends if end is not None), default=math.inf)

    def devices(self) -> int:
        """Return how many GPUs NVML reports; 0 while it is not initialised."""
        return len(self._workers)

    def _uuid_at(self, place: Address) -> str | None:
        found = (worker.uuid for worker in self._workers if worker.pci and address(worker.pci) == place)
        return next(found, None)

    def _run(self) -> None:
        retry = FIRST_RETRY_SECONDS
        while not self._stop.is_set():
            if self._release_wanted.is_set():
                self._stay_released()
            elif self._asleep():
                self._pause(1.0)
            else:
                watched = self._live()
                if watched.ever_up:
                    retry = FIRST_RETRY_SECONDS
                if watched.ended == "lost":
                    if watched.error and self._last_resort.only_a_new_process_helps(
                        watched.error, self._library.opened > 0, watched.ever_up
                    ):
                        return
                    self._pause(retry)
                    retry = min(retry * 2, LONGEST_RETRY_SECONDS)

    def _live(self) -> Watched:
        """Initialise NVML, collect until that has to end, and shut it down; an error of the start counts as lost."""
        opened = self._library.open()
        if isinstance(opened, DriverError):
            self.changed.set()
            return Watched("lost", ever_up=False, error=opened)
        session = self._new_session(opened)
        self.xids.open()
        session.start()
        self._session = session
        self.changed.set()
        watched = self._watch(session)
        closed = self._close(session)
        if watched.ended == "released" and closed:
            self.released = True
            self.changed.set()
        elif watched.ended == "released":
            log.error("the GPUs cannot be released, since a call hangs inside the driver; stop this process instead")
        return watched

    def _stay_released(self) -> None:
        # Without an open NVML there is nothing to let go of.
        if not self._library.held:
            self.released = True
            self.changed.set()
        if self.released:
            log.warning("the GPUs are released: none is collected until SIGUSR2")
        while self._release_wanted.is_set() and not self._stop.is_set():
            self._pause(60.0)
        self.released = False
        self.changed.set()

    def _asleep(self) -> bool:
        """Return whether every GPU is suspended: then NVML is left alone, which would wake them."""
        self.expected.look()
        return self.expected.all_asleep()

    def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until something is asked for."""
        if not self._wake.wait(seconds):
            return
        self._wake.clear()

    def _new_session(self, opened: Opened) -> Session:
        sampler = ReasonSampler(self._settings.sampler_hertz, self._integrators)
        workers = (
            Worker(
                index,
                self._driver,
                self._settings,
                self.tally,
                sampler.sample,
                self.xids.watch,
                self.expected.suspended,
                self.changed.set,
            )
            for index in range(opened.devices)
        )
        return Session(opened.versions, workers, sampler, self._settings.deadline)

    def _watch(self, session: Session) -> Watched:
        """Wait until the driver is lost, its GPUs have changed, or somebody asks for something else."""
        ever_up = False
        bus, recounted = self.expected.on_bus(), time.monotonic()
        while not self._stop.is_set():
            self._pause(min(self._settings.interval, 1.0))
            if self._release_wanted.is_set():
                return Watched("released", ever_up)
            now = time.monotonic()
            ever_up = ever_up or session.up(now)
            session.look_after(now)
            if now - recounted > RECOUNT_SECONDS and not session.stuck:
                recounted = now
                if self._changed(bus):
                    return Watched("changed", ever_up)
            lost = session.lost(now)
            if lost is not None:
                log.error("%s. No GPU answers; initialising NVML again", advice.sentence(lost))
                return Watched("lost", ever_up, lost)
        return Watched("stopped", ever_up)

    def _changed(self, bus: frozenset[tuple[str, str]]) -> bool:
        """Return whether GPUs came or went: NVML counts them when it is initialised, the PCI bus shows them at once."""
        self.expected.look()
        count = self._library.count()
        if count is None or (count == len(self._workers) and self.expected.on_bus() == bus):
            return False
        log.warning(
            "the GPUs of this machine have changed (there were %d); initialising NVML again", len(self._workers)
        )
        return True

    def _close(self, session: Session) -> bool:
        """End the session and shut NVML down; return False, and leave it open, when a call hangs inside the driver."""
        self._remember()
        self._session = None
        ended = session.stop()
        if self.xids.close(self._settings.deadline) and ended:
            self._library.close()
            self.changed.set()
            return True
        log.warning("a call hangs inside the driver; NVML is not shut down under it")
        return False

    def _remember(self) -> None:
        """Keep every GPU that is here, so that it is reported as down until it is back or forgotten."""
        here = {worker.uuid for worker in self._workers if worker.uuid}
        self._vanished.remember((report for report in self.report() if report.uuid in here), time.monotonic())

"""Every GPU of this machine: NVML's life from start to loss and back, and a worker for each GPU."""

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from exporters.gpu import advice
from exporters.gpu.collection import Snapshot
from exporters.gpu.driver import Driver, Versions
from exporters.gpu.errors import DriverError, LifecycleError, UnknownError
from exporters.gpu.integrator import ReasonIntegrator, ReasonTotals
from exporters.gpu.tally import Tally
from exporters.gpu.worker import Settings, Worker

log = logging.getLogger(__name__)

FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 60.0
# A GPU that vanished is reported as down for so long; then it was replaced, and must not page for ever.
FORGET_SECONDS = 86_400.0


@dataclass(frozen=True)
class GpuReport:
    """One GPU as it is now.

    Attributes:
        gpu: The index.
        uuid: The identity; empty for a GPU that was lost before it ever told.
        up: Whether its last collection succeeded and is fresh.
        stuck: Whether a collection is past its deadline.
        last_error_code: The NVML code of the last failed collection; 0 for none.
        last_success: Unix time of the last good collection.
        seconds: How long the last collection took.
        snapshot: What that one found; None unless it is up.
        totals: What the sampler saw; None unless it is up and sampled.
    """

    gpu: str
    uuid: str
    up: bool
    stuck: bool = False
    last_error_code: int = 0
    last_success: float | None = None
    seconds: float | None = None
    snapshot: Snapshot | None = None
    totals: ReasonTotals | None = None


class Fleet:
    """Collects every GPU in the background, from `start` to `stop`."""

    def __init__(self, driver: Driver, settings: Settings) -> None:
        self.tally = Tally()
        self.init_error_code = 0
        self.reinits = 0
        self.versions: Versions | None = None
        self.simulated = driver.simulated
        self._driver = driver
        self._settings = settings
        self._workers: list[Worker] = []
        self._vanished: dict[str, tuple[float, GpuReport]] = {}
        self._integrators: dict[str, ReasonIntegrator] = {}
        self._stuck: set[str] = set()
        self._opened_before = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fleet", daemon=True)

    @property
    def nvml_up(self) -> bool:
        """Whether NVML is initialised."""
        return self.versions is not None

    def start(self) -> None:
        """Begin to collect."""
        self._thread.start()

    def stop(self) -> None:
        """End; a thread that hangs inside the driver is left behind after the deadline."""
        self._stop.set()
        self._thread.join(self._settings.deadline + 1.0)

    def trouble(self) -> str | None:
        """Return what is wrong with the exporter itself, or None; a lost GPU or driver is not the exporter's fault."""
        if not self._thread.is_alive():
            return "the collection loop has ended; restart the exporter, its log says why"
        dead = [worker.gpu for worker in self._workers if worker.died()]
        if dead:
            return f"the collection of GPU {', '.join(dead)} has ended; restart the exporter, its log says why"
        return None

    def report(self) -> list[GpuReport]:
        """Return every GPU that is here or was here in the last day."""
        now = time.monotonic()
        workers = self._workers
        here = {worker.uuid for worker in workers if worker.uuid}
        gone = {
            uuid: last
            for uuid, (since, last) in self._vanished.copy().items()
            if uuid not in here and now - since < FORGET_SECONDS
        }
        reports = list(self._present(workers, gone, now))
        named = {report.uuid for report in reports}
        return reports + [last for uuid, last in gone.items() if uuid not in named]

    def devices(self) -> int:
        """Return how many GPUs NVML reports; 0 while it is not initialised."""
        return len(self._workers) if self.nvml_up else 0

    def _present(self, workers: list[Worker], gone: dict[str, GpuReport], now: float) -> Iterator[GpuReport]:
        by_index = {last.gpu: uuid for uuid, last in gone.items()}
        for worker in workers:
            if worker.outcome is None and not worker.stuck_for(now):
                continue  # its first collection is under way
            # A GPU that was lost when NVML was initialised again is the one that was at its index before.
            uuid = worker.uuid or by_index.get(worker.gpu, "")
            snapshot = worker.fresh(now)
            sampled = self._integrators.get(uuid) if snapshot else None
            yield GpuReport(
                gpu=worker.gpu,
                uuid=uuid,
                up=snapshot is not None,
                stuck=worker.stuck_for(now) > 0,
                last_error_code=worker.last_error_code,
                last_success=worker.last_success,
                seconds=worker.outcome.seconds if worker.outcome else None,
                snapshot=snapshot,
                totals=sampled.totals(now - self._settings.longest_age) if sampled else None,
            )

    def _run(self) -> None:
        retry = FIRST_RETRY_SECONDS
        while not self._stop.is_set():
            if self._open():
                if self._watch():
                    retry = FIRST_RETRY_SECONDS
                self._close()
            self._stop.wait(retry)
            retry = min(retry * 2, LONGEST_RETRY_SECONDS)

    def _open(self) -> bool:
        try:
            self._driver.open()
            try:
                versions, count = self._driver.versions(), self._driver.device_count()
            except DriverError:
                self._shut_down()
                raise
        except DriverError as error:
            self.tally.failed(error)
            if error.code != self.init_error_code:
                log.error("%s. Trying again, at least once a minute", advice.sentence(error))
            self.init_error_code = error.code
            return False
        if self._opened_before:
            self.reinits += 1
        self._opened_before = True
        self.init_error_code = 0
        log.info(
            "%s %d GPU(s), driver %s", "simulating" if self.simulated else "collecting", count, versions.driver or "?"
        )
        workers = [Worker(index, self._driver, self._settings, self._integrators, self.tally) for index in range(count)]
        for worker in workers:
            worker.start()
        self._workers, self.versions = workers, versions
        return True

    def _watch(self) -> bool:
        """Wait until the driver is lost or the exporter stops; return whether a GPU was ever up."""
        ever_up = False
        while not self._stop.wait(min(self._settings.interval, 1.0)):
            now = time.monotonic()
            up = any(worker.fresh(now) for worker in self._workers)
            ever_up = ever_up or up
            self._tell_stuck(now)
            lost = self._lost_error()
            # A new start beneath a call that hangs would leave one more thread behind each time.
            if lost is not None and not up and not self._stuck:
                log.error("%s. No GPU answers; initialising NVML again", advice.sentence(lost))
                break
        return ever_up

    def _lost_error(self) -> DriverError | None:
        errors = (worker.outcome.error for worker in self._workers if worker.outcome)
        return next((error for error in errors if isinstance(error, LifecycleError | UnknownError)), None)

    def _tell_stuck(self, now: float) -> None:
        for worker in self._workers:
            if not worker.stuck_for(now):
                self._stuck.discard(worker.gpu)
            elif worker.gpu not in self._stuck:
                self._stuck.add(worker.gpu)
                log.warning(
                    "GPU %s (%s) has not answered for %.0f s; gpu_up is 0 until it does, the other GPUs go on",
                    worker.gpu,
                    worker.uuid or "uuid not known",
                    worker.stuck_for(now) + self._settings.deadline,
                )

    def _close(self) -> None:
        self._remember()
        workers, self._workers = self._workers, []
        self.versions = None
        for worker in workers:
            worker.stop()
        until = time.monotonic() + self._settings.deadline
        if all(worker.join(max(until - time.monotonic(), 0.0)) for worker in workers):
            self._shut_down()
        else:
            log.warning("a call hangs inside the driver; NVML is not shut down under it")

    def _shut_down(self) -> None:
        try:
            self._driver.close()
        except DriverError as error:
            self.tally.failed(error)
            log.warning("NVML was not shut down: %s", error)

    def _remember(self) -> None:
        """Keep every GPU that is here, so that it is reported as down until it is back or forgotten."""
        now = time.monotonic()
        here = {worker.uuid for worker in self._workers if worker.uuid}
        for report in self.report():
            if report.uuid in here:
                down = replace(report, up=False, stuck=False, seconds=None, snapshot=None, totals=None)
                self._vanished[report.uuid] = (now, down)

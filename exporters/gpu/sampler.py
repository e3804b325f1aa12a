"""The thread that looks at every GPU's clock-event reasons many times a second.

A scrape sees the state at one instant: a slowdown of 300 ms is in a 15 s scrape with a chance of 2 %. Reading the mask
takes microseconds, so it is read at 10 Hz and integrated. One thread reads all GPUs, since waking a thread costs more
than reading. A call that hangs would stop it for all of them: then another thread goes on without that GPU.
"""

import logging
import threading
import time
from dataclasses import dataclass

from exporters.gpu import reasons
from exporters.gpu.collection import Notices
from exporters.gpu.driver import Device
from exporters.gpu.errors import DriverError, PermissionDeniedError, UnsupportedError
from exporters.gpu.integrator import ReasonIntegrator

log = logging.getLogger(__name__)

# A sampler that comes late by more than this many periods counts only so many.
GAP_PERIODS = 5
# A call that takes longer hangs: it should take microseconds.
HANGS_SECONDS = 0.5


@dataclass(eq=False, slots=True)
class _Turn:
    """One GPU's turn to be asked, the same object for each of its samples until it is dropped.

    Attributes:
        gpu: Its index.
        device: What is asked.
        since: When the sampling thread last began to ask it, on the monotonic clock.
        integrator: Takes the samples; None before the first.
    """

    gpu: str
    device: Device
    since: float = 0.0
    integrator: ReasonIntegrator | None = None


class ReasonSampler:
    """Samples the devices that it is given into their GPUs' integrators.

    Args:
        hertz: Samples of each GPU a second; 0 takes none.
        integrators: By uuid; they outlive this sampler, so that the counters go on after NVML was initialised again.
    """

    def __init__(self, hertz: float, integrators: dict[str, ReasonIntegrator]) -> None:
        self._period = 1 / hertz if hertz > 0 else None
        self._integrators = integrators
        self._notices: dict[str, Notices] = {}
        self._turns: dict[str, _Turn] = {}
        self._lock = threading.Lock()
        self._given = threading.Event()
        self._stop = threading.Event()
        self._call: _Turn | None = None
        self._left_behind: list[threading.Thread] = []
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to sample."""
        if self._period is not None:
            self._thread = threading.Thread(target=self._run, args=(self._period,), name="sampler", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ask the threads to end; they do so when the call that they are in returns."""
        self._stop.set()
        self._given.set()

    def join(self, timeout: float) -> bool:
        """Wait for the threads to end and return whether they did."""
        until = time.monotonic() + timeout
        threads = [thread for thread in (*self._left_behind, self._thread) if thread is not None]
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in threads)

    def died(self) -> bool:
        """Return whether the sampling thread ended that nobody asked to end."""
        return self._thread is not None and not self._stop.is_set() and not self._thread.is_alive()

    def sample(self, gpu: str, device: Device | None) -> None:
        """Sample this device of this GPU from now on, or none; called at the end of each of its collections."""
        turn = self._turns.get(gpu)
        if self._period is None or (turn.device if turn else None) is device:
            return
        with self._lock:
            self._drop(gpu)
            if device is not None:
                self._turns[gpu] = _Turn(gpu, device)
        self._given.set()

    def relieve(self, now: float) -> None:
        """Go on with another thread if this one hangs in a call, without the GPU that it asks."""
        call = self._call
        if call is None or now - call.since < HANGS_SECONDS or self._thread is None or self._stop.is_set():
            return
        with self._lock:
            # It may have returned meanwhile, and ask the same GPU again.
            if self._call is not call or now - call.since < HANGS_SECONDS:
                return
            log.warning("GPU %s is not sampled: a call hangs inside the driver; the other GPUs go on", call.gpu)
            self._drop(call.gpu)
            self._call = None
            self._left_behind = [thread for thread in (*self._left_behind, self._thread) if thread.is_alive()]
            self.start()

    def _run(self, period: float) -> None:
        mine = threading.current_thread()
        due = time.monotonic()
        while not self._stop.is_set():
            if not self._turns:
                self._given.wait()
                self._given.clear()
                due = time.monotonic()
                continue
            for turn in list(self._turns.values()):
                self._sample_one(turn, period)
                if self._thread is not mine:
                    return
            now = time.monotonic()
            due = due + period if now < due + period else now + period
            self._stop.wait(due - now)

    def _sample_one(self, turn: _Turn, period: float) -> None:
        turn.since = time.monotonic()
        self._call = turn
        try:
            integrator = turn.integrator or self._integrator(turn, period)
            mask = turn.device.clocks_event_reasons()
        except (UnsupportedError, PermissionDeniedError) as error:
            self._notices.setdefault(turn.gpu, Notices(turn.gpu)).warn(
                "reasons", f"its clock-event reasons are not sampled: {error}"
            )
            self._fail(turn)
            return
        except DriverError as error:
            log.debug("GPU %s is not sampled until its next good collection: %s", turn.gpu, error)
            self._fail(turn)
            return
        with self._lock:
            # The call may have hung for long, and this GPU be somebody else's by now.
            if self._call is turn:
                self._call = None
                if self._turns.get(turn.gpu) is turn and not self._stop.is_set():
                    integrator.observe(mask, time.monotonic())

    def _fail(self, turn: _Turn) -> None:
        with self._lock:
            if self._call is turn:
                self._call = None
                if self._turns.get(turn.gpu) is turn:
                    self._drop(turn.gpu)

    def _drop(self, gpu: str) -> None:
        """Sample this GPU no more: the time until it is sampled again is not counted. Called with the lock held."""
        turn = self._turns.pop(gpu, None)
        if turn is not None and turn.integrator is not None:
            turn.integrator.interrupt()

    def _integrator(self, turn: _Turn, period: float) -> ReasonIntegrator:
        try:
            supported = turn.device.supported_clocks_event_reasons()
        except (UnsupportedError, PermissionDeniedError):
            supported = reasons.COMMON
        fresh = ReasonIntegrator(supported, GAP_PERIODS * period)
        turn.integrator = self._integrators.setdefault(turn.device.uuid, fresh)
        return turn.integrator

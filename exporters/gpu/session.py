"""What there is while NVML is open: a worker for each GPU, and the sampler of all of them."""

import logging
import time
from collections.abc import Iterable

from exporters.gpu import roll_call
from exporters.gpu.answers import Versions
from exporters.gpu.errors import DriverError
from exporters.gpu.sampler import ReasonSampler
from exporters.gpu.worker import Worker

log = logging.getLogger(__name__)


class Session:
    """The threads that use NVML, from one `start` to one `stop`.

    Args:
        versions: Of the driver that was opened.
        workers: One for each of its GPUs.
        sampler: Of all of them.
        deadline: Seconds that a call may take before it hangs.
    """

    def __init__(self, versions: Versions, workers: Iterable[Worker], sampler: ReasonSampler, deadline: float) -> None:
        self.versions = versions
        self.workers = tuple(workers)
        self._sampler = sampler
        self._deadline = deadline
        self._stuck: set[str] = set()

    def start(self) -> None:
        """Begin to collect and to sample."""
        self._sampler.start()
        for worker in self.workers:
            worker.start()

    def stop(self) -> bool:
        """End; return whether every thread did, which one that hangs inside the driver does not."""
        for worker in self.workers:
            worker.stop()
        self._sampler.stop()
        until = time.monotonic() + self._deadline
        ended = [worker.join(max(until - time.monotonic(), 0.0)) for worker in self.workers]
        return self._sampler.join(max(until - time.monotonic(), 0.0)) and all(ended)

    def up(self, now: float) -> bool:
        """Return whether any GPU answers."""
        return any(worker.fresh(now) for worker in self.workers)

    def lost(self, now: float) -> DriverError | None:
        """Return why NVML is to be initialised again, or None."""
        # A new start beneath a call that hangs would leave one more thread behind each time.
        return None if self.stuck or self.up(now) else roll_call.why_none_answers(self.workers)

    def hung(self, longest: float, now: float) -> str | None:
        """Return which GPU has hung for more than so many seconds past its deadline, or None."""
        return roll_call.hung(self.workers, longest, now)

    def trouble(self) -> str | None:
        """Return what is wrong with the exporter itself, or None."""
        if self._sampler.died():
            return "the sampling of the GPUs has ended; restart the exporter, its log says why"
        dead = [worker.gpu for worker in self.workers if worker.died()]
        if dead:
            return f"the collection of GPU {', '.join(dead)} has ended; restart the exporter, its log says why"
        return None

    @property
    def stuck(self) -> bool:
        """Whether a GPU hung when it was last looked after."""
        return bool(self._stuck)

    def look_after(self, now: float) -> None:
        """Tell in the log, once for each time, of a GPU that hangs, and have the others sampled if one stops that."""
        self._sampler.relieve(now)
        for worker in self.workers:
            if not worker.stuck_for(now):
                self._stuck.discard(worker.gpu)
            elif worker.gpu not in self._stuck:
                self._stuck.add(worker.gpu)
                log.warning(
                    "GPU %s (%s) has not answered for %.0f s; gpu_up is 0 until it does, the other GPUs go on",
                    worker.gpu,
                    worker.uuid or "uuid not known",
                    worker.stuck_for(now) + self._deadline,
                )

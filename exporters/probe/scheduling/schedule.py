"""When each probe is due: APScheduler, with a phase of its own for every target and scenario."""

import hashlib
import logging
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from apscheduler.events import EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED, JobEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from exporters.probe.key import Key
from exporters.probe.scheduling.first_runs import first_within

log = logging.getLogger(__name__)

# Of the interval: enough that probes do not settle into step with a periodic job on the server.
JITTER = 0.05
_PREFIX = "probe/"


def fraction(*parts: object) -> float:
    """Return a number from 0 to below 1 that depends on the parts alone, so that a restart does not move it."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


class PhaseTrigger(BaseTrigger):  # type: ignore[misc]
    """Fires once in every interval since the epoch, at the key's own phase plus a jitter that is its own each time.

    APScheduler's interval trigger counts from the last run, so that its jitter adds up and a restart moves the phase.

    Args:
        key: Names of target and scenario.
        interval: Seconds.
        prober: Another prober of the same key has another phase and jitter.
    """

    def __init__(self, key: Key, interval: float, prober: str = "") -> None:
        self._own = (prober, *key)
        self.interval = interval
        self._phase = fraction(*self._own) * interval

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """Return the first time after the previous one (or after now), at least half an interval from it."""
        after = (previous_fire_time or now).timestamp()
        slot = math.floor((after - self._phase) / self.interval)
        earliest = after + self.interval / 2 if previous_fire_time else after
        while self._at(slot) <= earliest:
            slot += 1
        return datetime.fromtimestamp(self._at(slot), UTC)

    def _at(self, slot: int) -> float:
        return self._phase + self.interval * (slot + JITTER * fraction(*self._own, slot))


class Schedule:
    """Calls `run` for each key when it is due, in a pool of threads, and `skip` when that is not possible.

    Args:
        max_concurrent: How many probes may run at the same time.
        run: Runs one probe; must not raise.
        skip: Is told a key and one of metrics.SKIP_REASONS.
        prober: What tells this prober from others of the same targets, so that they do not probe in step.
    """

    def __init__(
        self, max_concurrent: int, run: Callable[[Key], None], skip: Callable[[Key, str], None], prober: str = ""
    ) -> None:
        self._max_concurrent = max_concurrent
        self._run = run
        self._skip = skip
        self._prober = prober
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            daemon=True,
            executors={
                "default": ThreadPoolExecutor(2, {"thread_name_prefix": "housekeeping"}),
                "probes": ThreadPoolExecutor(max_concurrent, {"thread_name_prefix": "probe"}),
            },
        )
        self._scheduler.add_listener(self._on_event, EVENT_JOB_MAX_INSTANCES | EVENT_JOB_MISSED)

    def start(self) -> None:
        """Begin."""
        self._scheduler.start()

    def stop(self) -> None:
        """Start nothing more; what runs is not waited for."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def every(self, seconds: float, work: Callable[[], None]) -> None:
        """Call `work` again and again, apart from the probes."""
        self._scheduler.add_job(
            work, "interval", seconds=seconds, next_run_time=datetime.now(UTC), coalesce=True, misfire_grace_time=None
        )

    def apply(self, intervals: Mapping[Key, float], fresh: set[Key], lasting: Mapping[Key, float]) -> None:
        """Probe these keys at these intervals (seconds) and no others; the fresh ones for the first time soon.

        A job keeps its id across a reload, by which the executor refuses a second run beside one that still runs.

        Args:
            intervals: The seconds between two probes of each key.
            fresh: Those of the keys that were never probed.
            lasting: How many seconds a probe of each key is expected to take.
        """
        jobs = {job.id: job for job in self._scheduler.get_jobs() if job.id.startswith(_PREFIX)}
        wanted = {_job_id(key): key for key in intervals}
        for job_id in jobs.keys() - wanted.keys():
            self._scheduler.remove_job(job_id)
        within = first_within(intervals, lasting, fresh, self._max_concurrent)
        for job_id, key in wanted.items():
            if key in fresh:
                self._add(job_id, key, intervals[key], fraction("first", self._prober, *key) * within[key])
            elif job_id not in jobs or jobs[job_id].trigger.interval != intervals[key]:
                self._add(job_id, key, intervals[key], None)

    def _add(self, job_id: str, key: Key, interval: float, first_after: float | None) -> None:
        trigger = PhaseTrigger(key, interval, self._prober)
        now = datetime.now(UTC)
        first = trigger.get_next_fire_time(None, now) if first_after is None else now + timedelta(seconds=first_after)
        self._scheduler.add_job(
            self._run,
            trigger,
            args=[key],
            id=job_id,
            executor="probes",
            replace_existing=True,
            max_instances=1,
            coalesce=True,
            misfire_grace_time=grace(interval),
            next_run_time=first,
        )

    def _on_event(self, event: JobEvent) -> None:
        job_id: Any = event.job_id
        if isinstance(job_id, str) and job_id.startswith(_PREFIX):
            target, scenario = job_id.removeprefix(_PREFIX).split("/")
            self._skip((target, scenario), "misfire" if event.code == EVENT_JOB_MISSED else "overlap")


def grace(interval: float) -> int:
    """Return for how many seconds a probe may wait for a thread; then it is dropped and counted, as the next is due."""
    return max(1, int(interval / 2))


def _job_id(key: Key) -> str:
    return _PREFIX + "/".join(key)

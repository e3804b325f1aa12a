"""How much of the multiprocessors' time each process used. The driver tells only of those that used some."""

import time
from functools import partial
from pathlib import Path

from exporters.gpu import metrics
from exporters.gpu.answers import ProcessUse
from exporters.gpu.cgroup import NOBODY, Processes
from exporters.gpu.collection import Collect, Collection
from exporters.gpu.collectors.process import MOST_PIDS, MOST_SHOWN

PERCENT = 0.01
SECOND = 1_000_000


def collector(proc: Path) -> Collect:
    """Return the collector, which looks up owners under this /proc."""
    processes = Processes(proc)
    newest: dict[str, int] = {}

    def collect(gpu: Collection) -> None:
        seen = newest.get(gpu.device.uuid)
        # No later than now, for a clock that was set back.
        since = min(seen or 0, int(time.time() * SECOND))
        used = gpu.ask(partial(gpu.device.process_use, since), "process_utilization")
        if used is None:
            return
        newest[gpu.device.uuid] = max((one.microseconds for one in used), default=since)
        if seen is None:
            # What the driver remembers at the first look may be old.
            return
        last: dict[int, ProcessUse] = {}
        for one in sorted(used, key=lambda one: one.microseconds):
            if 0 < one.pid <= MOST_PIDS and one.microseconds > since:
                last[one.pid] = one
        known = processes.sees_host()
        for one in sorted(last.values(), key=lambda one: (-one.percent, one.pid))[:MOST_SHOWN]:
            owner = processes.owner(one.pid) if known else NOBODY
            gpu.add(metrics.PROCESS_SM_UTILIZATION, one.percent * PERCENT, str(one.pid), *owner, at_most=1)

    return collect

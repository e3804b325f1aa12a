"""Which processes use the GPU, and how much of its memory. Never their command line or their files.

The driver tells ids of the host's PID namespace, and so does the /proc that is given; in a container without the
host's, a process keeps its id and its memory, and its owner is not known.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from exporters.gpu import metrics
from exporters.gpu.answers import Process
from exporters.gpu.cgroup import NOBODY, Processes
from exporters.gpu.collection import Collect, Collection
from exporters.gpu.questions import PROCESS_KINDS

# One GPU with very many processes must not fill Prometheus.
MOST_SHOWN = 16
MOST_PIDS = 2**22


def collector(proc: Path) -> Collect:
    """Return the collector, which looks up owners under this /proc."""
    processes = Processes(proc)

    def collect(gpu: Collection) -> None:
        listed = _listed(gpu)
        if listed is None:
            return
        known = processes.sees_host()
        living = [one for one in listed if not known or processes.living(one.pid)]
        told = [one for one in living if one.used is not None]
        for one in sorted(told, key=lambda one: (-(one.used or 0), one.pid))[:MOST_SHOWN]:
            # Without the host's ids, an id of the driver's is another process here, or none.
            owner = processes.owner(one.pid) if known else NOBODY
            instance = "" if one.gpu_instance is None else str(one.gpu_instance)
            gpu.add(metrics.PROCESS_MEMORY_USED, one.used or 0, str(one.pid), instance, *owner)
        if len(told) == len(living):
            _unattributed(gpu, sum(one.used or 0 for one in told))

    return collect


def _listed(gpu: Collection) -> list[Process] | None:
    """Return each process once, and add how many there are of each kind; None when no kind is told."""
    lists = {kind: gpu.ask(partial(gpu.device.processes, kind)) for kind in PROCESS_KINDS}
    for kind, found in lists.items():
        # Compute always, so that "none" is seen to be none.
        if found or (found is not None and kind == "compute"):
            gpu.add(metrics.PROCESSES, len(found), kind)
    if lists["compute"] is None:
        return None
    return list(_merged(one for found in lists.values() for one in found or []))


def _merged(processes: Iterable[Process]) -> Iterable[Process]:
    # One that computes and draws is in two lists, each with all of its memory.
    merged: dict[tuple[int, int | None], Process] = {}
    for one in processes:
        if not 0 < one.pid <= MOST_PIDS:
            continue
        before = merged.get((one.pid, one.gpu_instance))
        if before is None or (one.used or 0) > (before.used or 0):
            merged[one.pid, one.gpu_instance] = one
    return merged.values()


def _unattributed(gpu: Collection, attributed: int) -> None:
    memory = gpu.ask(gpu.device.memory)
    # Version 1 counts what the driver reserves as used.
    if memory is not None and memory.total and memory.reserved is not None:
        gpu.add(metrics.MEMORY_UNATTRIBUTED, max(memory.used - attributed, 0), at_most=memory.total)

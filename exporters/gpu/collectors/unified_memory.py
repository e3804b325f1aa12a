"""The host's memory, where the GPU has none of its own: GB10, Thor, Orin. It is named as what it is."""

import re
from functools import partial
from pathlib import Path

from exporters.gpu import metrics
from exporters.gpu.answers import Memory
from exporters.gpu.collection import Collect, Collection

# A GPU that does not tell its memory is one of these, or it is a vGPU or WSL2 that does not tell.
SHARES_THE_HOST = re.compile(r"\b(GB10|Thor|Orin|Xavier)\b")
KIBIBYTE = 1024
LINES = {"MemTotal": metrics.UNIFIED_TOTAL, "MemAvailable": metrics.UNIFIED_AVAILABLE}


def shares_host_memory(gpu: Collection, memory: Memory | None) -> bool:
    """Return whether this GPU uses the host's memory; `memory` is what it tells of its own."""
    has_own = memory is not None and memory.total > 0
    return not has_own and may_share(gpu)


def may_share(gpu: Collection) -> bool:
    """Return whether it is a product that has no memory of its own."""
    return bool(SHARES_THE_HOST.search(gpu.ask(partial(gpu.device.fact, "name")) or ""))


def collector(proc: Path) -> Collect:
    """Return the collector, which reads the host's memory under this /proc."""

    def collect(gpu: Collection) -> None:
        if not may_share(gpu) or not shares_host_memory(gpu, gpu.ask(gpu.device.memory)):
            return
        gpu.add(metrics.MEMORY_UNIFIED, 1)
        for name, kibibytes in re.findall(r"^(\w+):\s+(\d+) kB$", (proc / "meminfo").read_text("ascii"), re.MULTILINE):
            if name in LINES:
                gpu.add(LINES[name], int(kibibytes) * KIBIBYTE)

    return collect

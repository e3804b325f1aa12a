"""How the GPU's memory is used. A GPU that shares the host's memory has none of its own to report."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.collectors.unified_memory import shares_host_memory

# No GPU has more; NVML's "no value" (all bits set) lies far above.
LARGEST_BYTES = 2**50


def collect(gpu: Collection) -> None:
    """Collect total, used, free and reserved bytes."""
    memory = gpu.ask(gpu.device.memory)
    if memory is None or shares_host_memory(gpu, memory):
        return
    if not gpu.add(metrics.MEMORY_TOTAL, memory.total, at_least=1, at_most=LARGEST_BYTES):
        return
    gpu.add(metrics.MEMORY_USED, memory.used, at_most=memory.total)
    gpu.add(metrics.MEMORY_FREE, memory.free, at_most=memory.total)
    if memory.reserved is not None:
        gpu.add(metrics.MEMORY_RESERVED, memory.reserved, at_most=memory.total)

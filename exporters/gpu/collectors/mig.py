"""The instances of a GPU in MIG mode: what there is, its memory, and how well it was used.

Memory and activity are those of a GPU instance and told once for it, whatever number of compute instances share it.
What belongs to the board, such as power, is told once for the board.
"""

from collections.abc import Mapping
from functools import partial

from exporters.gpu import metrics
from exporters.gpu.answers import MigInstance
from exporters.gpu.collection import Collection
from exporters.gpu.collectors.memory import LARGEST_BYTES
from exporters.gpu.questions import Activity
from inferwatch.metric import Metric

PERCENT = 0.01
SHARES: Mapping[Activity, Metric] = {
    "graphics": metrics.MIG_GRAPHICS_ACTIVE,
    "sm": metrics.MIG_SM_ACTIVE,
    "sm_occupancy": metrics.MIG_SM_OCCUPANCY,
    "tensor": metrics.MIG_TENSOR_ACTIVE,
    "dram": metrics.MIG_DRAM_ACTIVE,
}


def collect(gpu: Collection) -> None:
    """Collect every instance."""
    instances = gpu.ask(gpu.device.mig_instances) or []
    for one in instances:
        gpu.add(metrics.MIG_INFO, 1, str(one.gpu_instance), str(one.compute_instance), one.uuid, one.profile)
    first: dict[int, MigInstance] = {}
    for one in instances:
        first.setdefault(one.gpu_instance, one)
    for one in first.values():
        _memory(gpu, one)
        found = gpu.ask(partial(gpu.device.mig_activity, one.gpu_instance)) or {}
        for name, metric in SHARES.items():
            if name in found:
                gpu.add(metric, found[name] * PERCENT, str(one.gpu_instance), at_most=1)


def _memory(gpu: Collection, one: MigInstance) -> None:
    memory, instance = one.memory, str(one.gpu_instance)
    if memory is None or not gpu.add(
        metrics.MIG_MEMORY_TOTAL, memory.total, instance, at_least=1, at_most=LARGEST_BYTES
    ):
        return
    gpu.add(metrics.MIG_MEMORY_USED, memory.used, instance, at_most=memory.total)
    gpu.add(metrics.MIG_MEMORY_FREE, memory.free, instance, at_most=memory.total)

"""How well the GPU was used between two collections, by GPM: utilisation only says that something ran.

The first collection has nothing to compare with, and so no value.
"""

from collections.abc import Mapping

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.questions import Activity
from inferwatch.metric import Metric

PERCENT = 0.01
# One small kernel on one multiprocessor of an H200 is active by 0.8 %, and not by 0.
BUSY_PERCENT = 50
SHARES: Mapping[Activity, Metric] = {
    "sm": metrics.SM_ACTIVE,
    "tensor": metrics.TENSOR_ACTIVE,
    "dram": metrics.DRAM_ACTIVE,
}
DETAILS: Mapping[Activity, Metric] = {
    "graphics": metrics.GRAPHICS_ACTIVE,
    "sm_occupancy": metrics.SM_OCCUPANCY,
}
PIPES: tuple[Activity, ...] = ("int", "fp64", "fp32", "fp16", "hmma", "imma", "dfma")


def collect(gpu: Collection) -> None:
    """Collect what was active: the multiprocessors, the tensor cores, the memory."""
    _add(gpu, SHARES)


def collect_details(gpu: Collection) -> None:
    """Collect what the multiprocessors were active with."""
    found = _add(gpu, DETAILS)
    for pipe in PIPES:
        if pipe in found:
            gpu.add(metrics.PIPE_ACTIVE, found[pipe] * PERCENT, pipe, at_most=1)


def _add(gpu: Collection, shares: Mapping[Activity, Metric]) -> Mapping[Activity, float]:
    found = gpu.ask(gpu.device.activity, "activity") or {}
    if found.get("sm") == 0 and _busy(gpu):
        gpu.reject("multiprocessor activity of 0 on a busy GPU")
        return {}
    for name, metric in shares.items():
        if name in found:
            gpu.add(metric, found[name] * PERCENT, at_most=1)
    return found


def _busy(gpu: Collection) -> bool:
    """Return whether a kernel ran lately for most of the time, beside which counters that show nothing do not count."""
    utilization = gpu.ask(gpu.device.utilization)
    return utilization is not None and BUSY_PERCENT <= utilization.gpu <= 100

"""Confidential computing, in which the GPU's memory is closed to the host."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.collectors.memory import LARGEST_BYTES


def collect(gpu: Collection) -> None:
    """Collect whether it is on, and how much protected memory is in use."""
    found = gpu.ask(gpu.device.confidential_computing, "confidential_computing")
    if found is None:
        return
    gpu.add(metrics.CONFIDENTIAL_COMPUTE_ENABLED, float(found.on))
    if found.protected_used is not None:
        gpu.add(metrics.PROTECTED_MEMORY_USED, found.protected_used, at_most=LARGEST_BYTES)

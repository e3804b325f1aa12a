"""Repairs of the board itself: those that wait for a reset, and faults that none can cure."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.questions import Reading

PENDING: dict[str, Reading] = {"channel": "channel_repair_pending", "tpc": "tpc_repair_pending"}


def collect(gpu: Collection) -> None:
    """Collect both."""
    for component, reading in PENDING.items():
        read = partial(gpu.device.reading, reading)
        gpu.add_scaled(metrics.REPAIR_PENDING, read, 1, component, at_most=1, feature="repair")
    gpu.add_scaled(metrics.UNREPAIRABLE_MEMORY, partial(gpu.device.reading, "unrepairable_memory"), 1, at_most=1)

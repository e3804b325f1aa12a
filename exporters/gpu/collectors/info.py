"""What the GPU is. A fact that it does not tell is an empty label."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.questions import Fact

FACTS: tuple[Fact, ...] = (
    "name",
    "brand",
    "architecture",
    "compute_capability",
    "pci_bus_id",
    "serial",
    "board_part_number",
    "vbios_version",
    "minor_number",
)


def collect(gpu: Collection) -> None:
    """Collect the identity as labels."""
    facts = [gpu.ask(partial(gpu.device.fact, fact)) for fact in FACTS]
    if any(facts):
        gpu.add(metrics.INFO, 1, *(fact or "" for fact in facts))

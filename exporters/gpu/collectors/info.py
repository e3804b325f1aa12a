"""What the GPU is. A fact that it does not tell is an empty label."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection


def collect(gpu: Collection) -> None:
    """Collect the identity as labels."""
    device = gpu.device
    facts = (gpu.ask(device.name), gpu.ask(device.pci_bus_id), gpu.ask(device.vbios_version))
    if any(fact is not None for fact in facts):
        gpu.add(metrics.INFO, 1, *(fact or "" for fact in facts))

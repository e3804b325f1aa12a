"""Why the clocks are held down at this instant: one series for each reason that this GPU can report."""

from exporters.gpu import metrics, reasons
from exporters.gpu.collection import Collection


def collect(gpu: Collection) -> None:
    """Collect 0 or 1 for each supported reason."""
    active = gpu.ask(gpu.device.clocks_event_reasons)
    if active is None:
        return
    supported = gpu.ask(gpu.device.supported_clocks_event_reasons)
    for name in reasons.names(reasons.COMMON if supported is None else supported):
        gpu.add(metrics.CLOCKS_EVENT_ACTIVE, float(bool(active & reasons.BITS[name])), name)

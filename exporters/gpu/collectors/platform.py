"""Where the GPU sits in a rack-scale machine, such as GB200 NVL72."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection


def collect(gpu: Collection) -> None:
    """Collect its place as labels."""
    place = gpu.ask(gpu.device.platform, "platform")
    if place is not None:
        gpu.add(metrics.PLATFORM_INFO, 1, place.chassis_serial, place.slot, place.tray, place.host, place.module)

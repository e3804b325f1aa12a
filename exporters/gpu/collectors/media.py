"""How busy the engines for video and pictures are. An inference server seldom uses them."""

from functools import partial

from exporters.gpu import hardware_metrics as hardware
from exporters.gpu.collection import Collection
from exporters.gpu.driver import Reading
from inferwatch.metric import Metric

PERCENT = 0.01
ENGINES: tuple[tuple[Metric, Reading], ...] = (
    (hardware.ENCODER, "encoder_percent"),
    (hardware.DECODER, "decoder_percent"),
    (hardware.JPEG, "jpeg_percent"),
    (hardware.OFA, "ofa_percent"),
)


def collect(gpu: Collection) -> None:
    """Collect the utilisation of each engine."""
    for metric, reading in ENGINES:
        gpu.add_scaled(metric, partial(gpu.device.reading, reading), PERCENT, at_most=1)

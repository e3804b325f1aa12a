"""How busy the engines for video and pictures are. An inference server seldom uses them."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.questions import Reading
from inferwatch.metric import Metric

PERCENT = 0.01
ENGINES: tuple[tuple[Metric, Reading], ...] = (
    (metrics.ENCODER, "encoder_percent"),
    (metrics.DECODER, "decoder_percent"),
    (metrics.JPEG, "jpeg_percent"),
    (metrics.OFA, "ofa_percent"),
)


def collect(gpu: Collection) -> None:
    """Collect the utilisation of each engine."""
    for metric, reading in ENGINES:
        gpu.add_scaled(metric, partial(gpu.device.reading, reading), PERCENT, at_most=1)

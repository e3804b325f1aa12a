"""Errors of the memory: those since the driver was loaded, and those in the board's life."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.questions import Reading

# NVML's "no value" (all bits set) lies above.
MOST_ERRORS = 2**48
SINCE_LOAD: dict[str, Reading] = {"corrected": "ecc_corrected", "uncorrected": "ecc_uncorrected"}
EVER: dict[str, Reading] = {"corrected": "ecc_corrected_ever", "uncorrected": "ecc_uncorrected_ever"}


def collect(gpu: Collection) -> None:
    """Collect the errors since the driver was loaded."""
    for kind, reading in SINCE_LOAD.items():
        read = partial(gpu.device.reading, reading)
        gpu.add_scaled(metrics.ECC_ERRORS, read, 1, kind, at_most=MOST_ERRORS, feature="ecc")


def collect_aggregate(gpu: Collection) -> None:
    """Collect the errors in the board's life."""
    for kind, reading in EVER.items():
        read = partial(gpu.device.reading, reading)
        gpu.add_scaled(metrics.ECC_ERRORS_AGGREGATE, read, 1, kind, at_most=MOST_ERRORS)

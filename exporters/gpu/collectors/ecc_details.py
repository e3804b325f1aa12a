"""Where the errors of the memory were, and whether those in the caches are more than a board may have."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.collectors.ecc import MOST_ERRORS
from exporters.gpu.questions import ERROR_KINDS, LOCATIONS


def collect_locations(gpu: Collection) -> None:
    """Collect the errors since the driver was loaded, by place."""
    for location in LOCATIONS:
        for kind in ERROR_KINDS:
            read = partial(gpu.device.memory_errors, location, kind)
            gpu.add_scaled(metrics.ECC_LOCATION_ERRORS, read, 1, kind, location, at_most=MOST_ERRORS)


def collect_sram(gpu: Collection) -> None:
    """Collect what the board remembers of its caches."""
    found = gpu.ask(gpu.device.sram_errors, "ecc_sram")
    if found is None:
        return
    gpu.add(metrics.ECC_SRAM_THRESHOLD_EXCEEDED, float(found.threshold_exceeded))
    for unit, count in found.uncorrected.items():
        gpu.add(metrics.ECC_SRAM_UNCORRECTED, count, unit, at_most=MOST_ERRORS)

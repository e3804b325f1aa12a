"""How the memory was repaired before Ampere: from the next load of the driver on, a bad page is used no more."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.questions import Reading

MOST_PAGES = 1_000_000
CAUSES: dict[str, Reading] = {"single_bit": "retired_single_bit", "double_bit": "retired_double_bit"}


def collect(gpu: Collection) -> None:
    """Collect how many pages were retired, and whether one waits."""
    for cause, reading in CAUSES.items():
        read = partial(gpu.device.reading, reading)
        gpu.add_scaled(metrics.RETIRED_PAGES, read, 1, cause, at_most=MOST_PAGES, feature="retired_pages")
    gpu.add_scaled(metrics.RETIRED_PAGES_PENDING, partial(gpu.device.reading, "retirement_pending"), 1, at_most=1)

"""How the memory was repaired: a row that failed is replaced by a spare one at the next reset."""

from dataclasses import asdict

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

MOST_ROWS = 1_000_000


def collect(gpu: Collection) -> None:
    """Collect whether a replacement waits or failed."""
    rows = gpu.ask(gpu.device.remapped_rows, "row_remapping")
    if rows is not None:
        gpu.add(metrics.ROW_REMAP_PENDING, rows.pending, at_most=1)
        gpu.add(metrics.ROW_REMAP_FAILURE, rows.failed, at_most=1)


def collect_counts(gpu: Collection) -> None:
    """Collect how many rows were replaced, and how much room there is for more."""
    rows = gpu.ask(gpu.device.remapped_rows)
    if rows is not None:
        gpu.add(metrics.REMAPPED_ROWS, rows.correctable, "correctable", at_most=MOST_ROWS)
        gpu.add(metrics.REMAPPED_ROWS, rows.uncorrectable, "uncorrectable", at_most=MOST_ROWS)
    banks = gpu.ask(gpu.device.row_banks)
    if banks is not None:
        for availability, count in asdict(banks).items():
            gpu.add(metrics.ROW_REMAP_BANKS, count, availability, at_most=MOST_ROWS)

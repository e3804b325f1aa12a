"""What went wrong in the memory of a GPU, and how it was repaired."""

from exporters.gpu.metrics.declare import NO_ECC, counter, gauge

ECC_ERRORS = counter(
    "gpu_ecc_errors_total",
    "Memory errors since the driver was loaded, corrected or uncorrected.",
    "type",
    source="GetTotalEccErrors(volatile)",
    absent=NO_ECC,
)
ECC_ERRORS_AGGREGATE = counter(
    "gpu_ecc_errors_aggregate_total",
    "Memory errors in the board's life, corrected or uncorrected.",
    "type",
    source="GetTotalEccErrors(aggregate)",
    absent=NO_ECC,
)
_NO_ROWS = "GPUs before Ampere and GeForce; in MIG mode with instances"
REMAPPED_ROWS = counter(
    "gpu_remapped_rows_total",
    "Rows of memory that were replaced by spare ones, by the kind of error.",
    "cause",
    source="GetRemappedRows",
    absent=_NO_ROWS,
)
ROW_REMAP_PENDING = gauge(
    "gpu_row_remap_pending",
    "Whether a row will be replaced at the next reset (1) or not (0).",
    source="GetRemappedRows",
    absent=_NO_ROWS,
)
ROW_REMAP_FAILURE = gauge(
    "gpu_row_remap_failure",
    "Whether a row could not be replaced (1) or not (0): the board is due for exchange.",
    source="GetRemappedRows",
    absent=_NO_ROWS,
)

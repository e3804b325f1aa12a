"""What went wrong in the memory of a GPU, and how it was repaired."""

from exporters.gpu.metrics.declare import DRIVERS_BEFORE, NO_ECC, counter, gauge

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
ECC_LOCATION_ERRORS = counter(
    "gpu_ecc_location_errors_total",
    "Memory errors since the driver was loaded, corrected or uncorrected, by where they were: dram, sram and others.",
    "type",
    "location",
    source="GetMemoryErrorCounter(volatile)",
    absent=f"{NO_ECC}; places that the GPU does not count",
)
_SRAM = "GPUs before Ampere and GeForce; without root"
ECC_SRAM_THRESHOLD_EXCEEDED = gauge(
    "gpu_ecc_sram_threshold_exceeded",
    "Whether uncorrected errors in the caches were more than a board may have (1) or not (0): it is due for exchange.",
    source="GetSramEccErrorStatus",
    absent=_SRAM,
)
ECC_SRAM_UNCORRECTED = counter(
    "gpu_ecc_sram_uncorrected_aggregate_total",
    "Uncorrected errors in the caches in the board's life, by the part that had them: l2, sm, pcie, mcu, other.",
    "unit",
    source="GetSramEccErrorStatus",
    absent=_SRAM,
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
_RETIRED = "GPUs from Ampere on, which remap rows, and GeForce"
RETIRED_PAGES = counter(
    "gpu_retired_pages_total",
    "Pages of memory that are used no more, by the kind of error.",
    "cause",
    source="fields 29, 30",
    absent=_RETIRED,
)
RETIRED_PAGES_PENDING = gauge(
    "gpu_retired_pages_pending",
    "Whether a page waits to be retired at the next load of the driver (1) or not (0).",
    source="field 31",
    absent=_RETIRED,
)
ROW_REMAP_BANKS = gauge(
    "gpu_row_remap_banks",
    "Banks of memory by how many spare rows they have left: max is all, then high, partial, low and none.",
    "availability",
    source="GetRowRemapperHistogram",
    absent="GPUs before Ampere and GeForce; vGPU, which is not asked",
)
REPAIR_PENDING = gauge(
    "gpu_repair_pending",
    "Whether a repair waits for the next reset (1) or not (0), by component: channel is of the memory, tpc of the "
    "multiprocessors.",
    "component",
    source="GetRepairStatus",
    absent=f"GPUs that cannot be repaired so, {DRIVERS_BEFORE.format(580)}",
)
UNREPAIRABLE_MEMORY = gauge(
    "gpu_unrepairable_memory",
    "Whether the memory has faults that no repair can cure (1) or not (0): the board is due for exchange.",
    source="GetUnrepairableMemoryFlag_v1",
    absent=f"GPUs before Hopper, {DRIVERS_BEFORE.format(590)}",
)

"""Whether a GPU is there and answers."""

from exporters.gpu.metrics.declare import DRIVERS_BEFORE, gauge

UP = gauge("gpu_up", "Whether the last collection of this GPU succeeded (1) or not (0).")
LAST_ERROR_CODE = gauge(
    "gpu_last_error_code",
    "The NVML code of the last failed collection of this GPU; 0 is none, 15 GPU is lost, 16 reset required.",
)
STUCK = gauge(
    "gpu_stuck", "Whether a collection of this GPU hangs inside the driver, past its deadline (1) or not (0)."
)
LAST_COLLECTION_TIMESTAMP = gauge(
    "gpu_last_collection_timestamp_seconds", "When this GPU was last collected with success, as Unix time."
)
COLLECTION_DURATION = gauge("gpu_collection_duration_seconds", "How long the last collection of this GPU took.")
SUSPENDED = gauge(
    "gpu_suspended",
    "Whether this GPU is suspended by runtime power management and was not asked (1) or not (0); while it is, gpu_up "
    "and its other values are absent.",
)
RECOVERY_ACTION = gauge(
    "gpu_recovery_action",
    "What the driver asks for: 0 nothing, 1 reset the GPU, 2 reboot the node, 3 drain peer to peer, 4 drain and reset, "
    "5 recover IMEX, 6 reset the bus, 7 reboot the system.",
    source="field 230",
    absent=DRIVERS_BEFORE.format(570),
)
INFOROM_VALID = gauge(
    "gpu_inforom_valid",
    "Whether the board's memory of its own identity and errors was intact (1) or corrupt (0) when it was first read.",
    source="ValidateInforom, once",
    absent="vGPU",
)
CAPABILITY = gauge(
    "gpu_capability",
    "Whether this GPU and driver support a feature (1) or not (0): 0 means that its metrics are absent for good, "
    "1 that a value missing now is missing for another reason.",
    "feature",
    source="the return codes of the calls",
)

"""The instances of a GPU in MIG mode."""

from exporters.gpu.metrics.declare import gauge

_NOT_SPLIT = "GPUs that are not in MIG mode"
MIG_INFO = gauge(
    "gpu_mig_info",
    "A MIG instance, always 1.",
    "gpu_instance",
    "compute_instance",
    "mig_uuid",
    "profile",
    source="GetMigDeviceHandleByIndex",
    absent=_NOT_SPLIT,
)
MIG_MEMORY_TOTAL = gauge(
    "gpu_mig_memory_total_bytes",
    "Memory of the GPU instance.",
    "gpu_instance",
    source="GetMemoryInfo(v2)",
    absent=_NOT_SPLIT,
)
MIG_MEMORY_USED = gauge(
    "gpu_mig_memory_used_bytes",
    "Memory allocated on the GPU instance.",
    "gpu_instance",
    source="GetMemoryInfo(v2)",
    absent=_NOT_SPLIT,
)
MIG_MEMORY_FREE = gauge(
    "gpu_mig_memory_free_bytes",
    "Memory free on the GPU instance.",
    "gpu_instance",
    source="GetMemoryInfo(v2)",
    absent=_NOT_SPLIT,
)
_MIG_GPM = "GPUs that are not in MIG mode or before Hopper"
MIG_GRAPHICS_ACTIVE = gauge(
    "gpu_mig_graphics_active_ratio",
    "Share of time that anything ran on the GPU instance between two collections, 0 to 1.",
    "gpu_instance",
    source="GPM 1",
    absent=_MIG_GPM,
)
MIG_SM_ACTIVE = gauge(
    "gpu_mig_sm_active_ratio",
    "Share of the GPU instance's multiprocessors that were busy between two collections, 0 to 1.",
    "gpu_instance",
    source="GPM 2",
    absent=_MIG_GPM,
)
MIG_SM_OCCUPANCY = gauge(
    "gpu_mig_sm_occupancy_ratio",
    "Warps that were resident on the GPU instance between two collections, as a share of the most possible, 0 to 1.",
    "gpu_instance",
    source="GPM 3",
    absent=_MIG_GPM,
)
MIG_TENSOR_ACTIVE = gauge(
    "gpu_mig_tensor_active_ratio",
    "Share of time the GPU instance's tensor cores were busy between two collections, 0 to 1.",
    "gpu_instance",
    source="GPM 5",
    absent=_MIG_GPM,
)
MIG_DRAM_ACTIVE = gauge(
    "gpu_mig_dram_active_ratio",
    "The GPU instance's memory bandwidth used between two collections, as a share of the most possible, 0 to 1.",
    "gpu_instance",
    source="GPM 10",
    absent=_MIG_GPM,
)

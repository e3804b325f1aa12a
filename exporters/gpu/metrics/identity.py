"""What a GPU is, and how it is set up."""

from exporters.gpu.metrics.declare import DRIVERS_BEFORE, IN_MIG_MODE, NO_ECC, gauge
from inferwatch.metric import Metric

INFO = gauge(
    "gpu_info",
    "What this GPU is, always 1; what it does not tell is empty.",
    "name",
    "brand",
    "architecture",
    "compute_capability",
    "pci_bus_id",
    "serial",
    "board_part_number",
    "vbios_version",
    "minor_number",
    source="GetName, GetPciInfo and others",
)
DRIVER_INFO = Metric(
    "gpu_driver_info",
    "gauge",
    "The driver's versions, always 1.",
    ("driver_version", "cuda_version", "nvml_version"),
    source="nvmlSystemGetDriverVersion and others",
)
PLATFORM_INFO = gauge(
    "gpu_platform_info",
    "Where this GPU sits in a rack-scale machine, always 1; what it does not tell is empty.",
    "chassis_serial",
    "slot",
    "tray",
    "host",
    "module",
    source="GetPlatformInfo",
    absent=f"GPUs that are in no such machine, {DRIVERS_BEFORE.format(570)}",
)
_MODE = "Whether {} is on (1) or off (0)."
PERSISTENCE_MODE = gauge(
    "gpu_persistence_mode",
    _MODE.format("persistence mode, which keeps the driver loaded,"),
    source="GetPersistenceMode",
)
ECC_MODE = gauge("gpu_ecc_mode_enabled", _MODE.format("ECC"), source="GetEccMode", absent=NO_ECC)
ECC_MODE_PENDING = gauge(
    "gpu_ecc_mode_pending",
    "Whether ECC will be on (1) or off (0) after the next reset.",
    source="GetEccMode",
    absent=NO_ECC,
)
_NO_MIG = "GPUs that cannot be split, such as GeForce and L40S"
MIG_MODE_ENABLED = gauge("gpu_mig_mode_enabled", _MODE.format("MIG mode"), source="GetMigMode", absent=_NO_MIG)
MIG_MODE_PENDING = gauge(
    "gpu_mig_mode_pending",
    "Whether MIG mode will be on (1) or off (0) after the next reset.",
    source="GetMigMode",
    absent=_NO_MIG,
)
GSP_MODE = gauge(
    "gpu_gsp_mode_enabled",
    _MODE.format("the GPU's own firmware processor (GSP)"),
    source="GetGspFirmwareMode",
    absent="GPUs before Turing",
)
COMPUTE_MODE = gauge(
    "gpu_compute_mode",
    "Who may compute: 0 everybody, 2 nobody, 3 one process at a time.",
    source="GetComputeMode",
    absent=IN_MIG_MODE,
)
ACCOUNTING_MODE = gauge(
    "gpu_accounting_mode_enabled",
    _MODE.format("accounting, in which the driver keeps figures of each process,"),
    source="GetAccountingMode",
    absent="GPUs in MIG mode, vGPU",
)
CONFIDENTIAL_COMPUTE_ENABLED = gauge(
    "gpu_confidential_compute_enabled",
    _MODE.format("confidential computing, in which the memory of the GPU is closed to the host,"),
    source="nvmlSystemGetConfComputeState",
    absent="GPUs before Hopper, drivers before 535",
)
PERFORMANCE_STATE = gauge(
    "gpu_performance_state", "Performance state P0 (fastest) to P15, as 0 to 15.", source="GetPerformanceState"
)

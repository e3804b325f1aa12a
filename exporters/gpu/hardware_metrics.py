"""What the GPU exporter says of the hardware beyond the metrics that the rules and dashboards are built on.

`source` names NVML's functions without ``nvmlDevice``, and its field ids. `absent` follows NVML's header and captures
of nvidia-smi on GeForce (Turing, Ada), L40S, H100 and H200.
"""

from inferwatch.metric import Metric

GPU = ("gpu", "uuid")


def _gauge(name: str, text: str, source: str, absent: str = "", *labels: str) -> Metric:
    return Metric(name, "gauge", text, (*GPU, *labels), source=source, absent=absent)


def _counter(name: str, text: str, source: str, absent: str = "", *labels: str) -> Metric:
    return Metric(name, "counter", text, (*GPU, *labels), source=source, absent=absent)


OLD_DRIVERS = "drivers before {}"
MIG_MODE = "GPUs in MIG mode"
NO_ECC = "GPUs without ECC memory, such as GeForce"
BEFORE_HOPPER = "GPUs before Hopper, fractional vGPU"

CAPABILITY = _gauge(
    "gpu_capability",
    "Whether this GPU and driver support a feature (1) or not (0): 0 means that its metrics are absent for good, "
    "1 that a value missing now is missing for another reason.",
    "the return codes of the calls",
    "",
    "feature",
)

# Modes
_MODE = "Whether {} is on (1) or off (0)."
PERSISTENCE_MODE = _gauge(
    "gpu_persistence_mode", _MODE.format("persistence mode, which keeps the driver loaded,"), "GetPersistenceMode"
)
ECC_MODE = _gauge("gpu_ecc_mode_enabled", _MODE.format("ECC"), "GetEccMode", NO_ECC)
ECC_MODE_PENDING = _gauge(
    "gpu_ecc_mode_pending", "Whether ECC will be on (1) or off (0) after the next reset.", "GetEccMode", NO_ECC
)
NO_MIG = "GPUs that cannot be split, such as GeForce and L40S"
MIG_MODE_ENABLED = _gauge("gpu_mig_mode_enabled", _MODE.format("MIG mode"), "GetMigMode", NO_MIG)
MIG_MODE_PENDING = _gauge(
    "gpu_mig_mode_pending", "Whether MIG mode will be on (1) or off (0) after the next reset.", "GetMigMode", NO_MIG
)
GSP_MODE = _gauge("gpu_gsp_mode_enabled", _MODE.format("the GPU's own firmware processor (GSP)"), "GetGspFirmwareMode")
COMPUTE_MODE = _gauge(
    "gpu_compute_mode",
    "Who may compute: 0 everybody, 2 nobody, 3 one process at a time.",
    "GetComputeMode",
    MIG_MODE,
)
PERFORMANCE_STATE = _gauge(
    "gpu_performance_state", "Performance state P0 (fastest) to P15, as 0 to 15.", "GetPerformanceState"
)

# Work
_NO_SAMPLES = f"{MIG_MODE}, vGPU, WSL2"
UTILIZATION_MAX = _gauge(
    "gpu_utilization_max_ratio",
    "Highest utilisation that the driver sampled in the trailing window (--gpu.window), 0 to 1; shows bursts between "
    "two scrapes.",
    "GetSamples(gpu)",
    _NO_SAMPLES,
)
UTILIZATION_AVG = _gauge(
    "gpu_utilization_avg_ratio",
    "Mean utilisation that the driver sampled in the trailing window (--gpu.window), 0 to 1.",
    "GetSamples(gpu)",
    _NO_SAMPLES,
)
ENCODER = _gauge(
    "gpu_encoder_utilization_ratio", "Share of time the video encoder was busy.", "GetEncoderUtilization", MIG_MODE
)
DECODER = _gauge(
    "gpu_decoder_utilization_ratio", "Share of time the video decoder was busy.", "GetDecoderUtilization", MIG_MODE
)
JPEG = _gauge("gpu_jpeg_utilization_ratio", "Share of time the JPEG engine was busy.", "GetJpgUtilization", MIG_MODE)
OFA = _gauge(
    "gpu_ofa_utilization_ratio", "Share of time the optical flow engine was busy.", "GetOfaUtilization", MIG_MODE
)
SM_ACTIVE = _gauge(
    "gpu_sm_active_ratio",
    "Share of the multiprocessors that were busy between two collections, 0 to 1: how well the GPU was used.",
    "GPM 2",
    BEFORE_HOPPER,
)
SM_OCCUPANCY = _gauge(
    "gpu_sm_occupancy_ratio",
    "Warps that were resident between two collections, as a share of the most possible, 0 to 1.",
    "GPM 3",
    BEFORE_HOPPER,
)
TENSOR_ACTIVE = _gauge(
    "gpu_tensor_active_ratio",
    "Share of time the tensor cores were busy between two collections, 0 to 1.",
    "GPM 5",
    BEFORE_HOPPER,
)
DRAM_ACTIVE = _gauge(
    "gpu_dram_active_ratio",
    "Memory bandwidth used between two collections, as a share of the most possible, 0 to 1; decoding is bound by it.",
    "GPM 10",
    BEFORE_HOPPER,
)
GRAPHICS_ACTIVE = _gauge(
    "gpu_graphics_active_ratio",
    "Share of time that anything ran between two collections, 0 to 1.",
    "GPM 1",
    BEFORE_HOPPER,
)
PIPE_ACTIVE = _gauge(
    "gpu_pipe_active_ratio",
    "Share of time that one kind of arithmetic ran between two collections, 0 to 1: int, fp64, fp32, fp16 in ordinary "
    "cores; hmma, imma, dfma in tensor cores with halves, integers, doubles.",
    "GPM 4, 6, 7, 9, 11 to 13",
    BEFORE_HOPPER,
    "pipe",
)

# Memory
MEMORY_UNIFIED = _gauge(
    "gpu_memory_unified",
    "This GPU has no memory of its own and uses the host's, always 1.",
    "GetMemoryInfo, GetName",
    "GPUs with memory of their own",
)
UNIFIED_TOTAL = _gauge(
    "gpu_unified_system_memory_total_bytes",
    "Memory of the host, which this GPU shares.",
    "/proc/meminfo MemTotal",
    "GPUs with memory of their own",
)
UNIFIED_AVAILABLE = _gauge(
    "gpu_unified_system_memory_available_bytes",
    "Memory of the host, which this GPU shares, that a program could still get.",
    "/proc/meminfo MemAvailable",
    "GPUs with memory of their own",
)
BAR1_TOTAL = _gauge(
    "gpu_bar1_memory_total_bytes", "Size of the window through which the host reaches its memory.", "GetBAR1MemoryInfo"
)
BAR1_USED = _gauge("gpu_bar1_memory_used_bytes", "How much of that window is in use.", "GetBAR1MemoryInfo")

# Heat
MEMORY_TEMPERATURE = _gauge(
    "gpu_memory_temperature_celsius",
    "Temperature of the memory.",
    "field 82",
    "GPUs without HBM, such as GeForce and L40S",
)
TEMPERATURE_MARGIN = _gauge(
    "gpu_temperature_margin_celsius",
    "How many degrees are left until the GPU slows down; 0 or below: it does.",
    "GetMarginTemperature",
    "GeForce, drivers before 570",
)
TEMPERATURE_THRESHOLD = _gauge(
    "gpu_temperature_threshold_celsius",
    "Temperature at which the GPU shuts down or slows down, or that its memory or chip should not exceed.",
    "GetTemperatureThreshold",
    "where the driver gives the limits relative to T.Limit instead, from Ada on",
    "threshold",
)
TEMPERATURE_TLIMIT = _gauge(
    "gpu_temperature_tlimit_celsius",
    "The margin (gpu_temperature_margin_celsius) at which the GPU shuts down or slows down; may be below 0.",
    "fields 193 to 196",
    "GPUs before Ada, drivers before 550",
    "threshold",
)
FAN_SPEED = _gauge(
    "gpu_fan_speed_ratio",
    "How fast the fan should turn, as a share of its highest speed; may exceed 1.",
    "GetFanSpeed_v2",
    "GPUs without fans, such as SXM boards and L40S",
    "fan",
)

# Power
POWER_INSTANT = _gauge("gpu_power_instant_watts", "Power drawn at this instant.", "field 186", OLD_DRIVERS.format(535))
POWER_MAX = _gauge(
    "gpu_power_max_watts",
    "Highest power that the driver sampled in the trailing window (--gpu.window).",
    "GetSamples(power)",
    "where the driver keeps no samples",
)
POWER_LIMIT_DEFAULT = _gauge(
    "gpu_power_limit_default_watts", "The power limit as the board comes.", "GetPowerManagementDefaultLimit"
)
POWER_LIMIT_MIN = _gauge(
    "gpu_power_limit_min_watts", "The lowest power limit that can be set.", "GetPowerManagementLimitConstraints"
)
POWER_LIMIT_MAX = _gauge(
    "gpu_power_limit_max_watts", "The highest power limit that can be set.", "GetPowerManagementLimitConstraints"
)
MODULE_POWER = _gauge(
    "gpu_module_power_watts", "Power drawn by GPU and CPU together.", "field 186, scope 1", "all but Grace modules"
)

# Health of the memory
ECC_ERRORS = _counter(
    "gpu_ecc_errors_total",
    "Memory errors since the driver was loaded, corrected or uncorrected.",
    "GetTotalEccErrors(volatile)",
    NO_ECC,
    "type",
)
ECC_ERRORS_AGGREGATE = _counter(
    "gpu_ecc_errors_aggregate_total",
    "Memory errors in the board's life, corrected or uncorrected.",
    "GetTotalEccErrors(aggregate)",
    NO_ECC,
    "type",
)
_NO_ROWS = "GPUs before Ampere and GeForce; in MIG mode with instances"
REMAPPED_ROWS = _counter(
    "gpu_remapped_rows_total",
    "Rows of memory that were replaced by spare ones, by the kind of error.",
    "GetRemappedRows",
    _NO_ROWS,
    "cause",
)
ROW_REMAP_PENDING = _gauge(
    "gpu_row_remap_pending",
    "Whether a row will be replaced at the next reset (1) or not (0).",
    "GetRemappedRows",
    _NO_ROWS,
)
ROW_REMAP_FAILURE = _gauge(
    "gpu_row_remap_failure",
    "Whether a row could not be replaced (1) or not (0): the board is due for exchange.",
    "GetRemappedRows",
    _NO_ROWS,
)
RECOVERY_ACTION = _gauge(
    "gpu_recovery_action",
    "What the driver asks for: 0 nothing, 1 reset the GPU, 2 reboot the node, 3 drain peer to peer, 4 drain and reset, "
    "5 recover IMEX, 6 reset the bus, 7 reboot the system.",
    "field 230",
    OLD_DRIVERS.format(570),
)

# Links
PCIE_GENERATION = _gauge(
    "gpu_pcie_link_generation",
    "PCIe generation that the link runs at; falls when the GPU is idle.",
    "GetCurrPcieLinkGeneration",
)
PCIE_GENERATION_MAX = _gauge(
    "gpu_pcie_link_generation_max",
    "Highest PCIe generation of GPU and slot together.",
    "GetMaxPcieLinkGeneration",
)
PCIE_WIDTH = _gauge("gpu_pcie_link_width", "Lanes that the PCIe link uses.", "GetCurrPcieLinkWidth")
PCIE_WIDTH_MAX = _gauge("gpu_pcie_link_width_max", "Lanes that the PCIe link could use.", "GetMaxPcieLinkWidth")
PCIE_REPLAYS = _counter("gpu_pcie_replays_total", "PCIe packets that were sent again.", "GetPcieReplayCounter")
_PCIE_BYTES = "drivers before 560, vGPU"
PCIE_TRANSMITTED = _counter(
    "gpu_pcie_transmit_bytes_total", "Bytes that the GPU sent over PCIe.", "field 197", _PCIE_BYTES
)
PCIE_RECEIVED = _counter(
    "gpu_pcie_receive_bytes_total", "Bytes that the GPU received over PCIe.", "field 198", _PCIE_BYTES
)
PCIE_TRANSMITTING = _gauge(
    "gpu_pcie_transmit_bytes_per_second",
    "Bytes a second that the GPU sent over PCIe, in 20 ms of the last collection.",
    "GetPcieThroughput(tx), which blocks for 20 ms",
    "vGPU",
)
PCIE_RECEIVING = _gauge(
    "gpu_pcie_receive_bytes_per_second",
    "Bytes a second that the GPU received over PCIe, in 20 ms of the last collection.",
    "GetPcieThroughput(rx), which blocks for 20 ms",
    "vGPU",
)
PCIE_RECOVERIES = _counter(
    "gpu_pcie_recoveries_total",
    "How often the PCIe link had to be trained again.",
    "field 169",
    OLD_DRIVERS.format(535),
)
PCIE_ERRORS = _counter(
    "gpu_pcie_errors_total", "Errors on the PCIe link by type.", "fields 173 to 182", OLD_DRIVERS.format(535), "type"
)
_NO_NVLINK = "GPUs without NVLink"
NVLINK_LINKS = _gauge("gpu_nvlink_links", "How many NVLinks the GPU has.", "field 91, GetNvLinkState", _NO_NVLINK)
NVLINK_LINKS_UP = _gauge("gpu_nvlink_links_up", "How many NVLinks are up.", "GetNvLinkState", _NO_NVLINK)
NVLINK_TRANSMITTED = _counter(
    "gpu_nvlink_transmit_bytes_total",
    "Bytes of data sent over all NVLinks.",
    "field 138 of all links; NVLink 5: 202",
    _NO_NVLINK,
)
NVLINK_RECEIVED = _counter(
    "gpu_nvlink_receive_bytes_total",
    "Bytes of data received over all NVLinks.",
    "field 139 of all links; NVLink 5: 204",
    _NO_NVLINK,
)
NVLINK_ERRORS = _counter(
    "gpu_nvlink_errors_total",
    "Errors on all NVLinks by type.",
    "fields 161 to 163; NVLink 5: 206 to 212, 214, 219, 221",
    _NO_NVLINK,
    "type",
)

# MIG
INSTANCE = ("gpu_instance",)
NOT_SPLIT = "GPUs that are not in MIG mode"
MIG_INFO = _gauge(
    "gpu_mig_info",
    "A MIG instance, always 1.",
    "GetMigDeviceHandleByIndex",
    NOT_SPLIT,
    "gpu_instance",
    "compute_instance",
    "mig_uuid",
    "profile",
)
MIG_MEMORY_TOTAL = _gauge(
    "gpu_mig_memory_total_bytes", "Memory of the GPU instance.", "GetMemoryInfo(v2)", NOT_SPLIT, *INSTANCE
)
MIG_MEMORY_USED = _gauge(
    "gpu_mig_memory_used_bytes", "Memory allocated on the GPU instance.", "GetMemoryInfo(v2)", NOT_SPLIT, *INSTANCE
)
MIG_MEMORY_FREE = _gauge(
    "gpu_mig_memory_free_bytes", "Memory free on the GPU instance.", "GetMemoryInfo(v2)", NOT_SPLIT, *INSTANCE
)
_MIG_GPM = "GPUs that are not in MIG mode or before Hopper"
MIG_GRAPHICS_ACTIVE = _gauge(
    "gpu_mig_graphics_active_ratio",
    "Share of time that anything ran on the GPU instance between two collections, 0 to 1.",
    "GPM 1",
    _MIG_GPM,
    *INSTANCE,
)
MIG_SM_ACTIVE = _gauge(
    "gpu_mig_sm_active_ratio",
    "Share of the GPU instance's multiprocessors that were busy between two collections, 0 to 1.",
    "GPM 2",
    _MIG_GPM,
    *INSTANCE,
)
MIG_TENSOR_ACTIVE = _gauge(
    "gpu_mig_tensor_active_ratio",
    "Share of time the GPU instance's tensor cores were busy between two collections, 0 to 1.",
    "GPM 5",
    _MIG_GPM,
    *INSTANCE,
)
MIG_DRAM_ACTIVE = _gauge(
    "gpu_mig_dram_active_ratio",
    "The GPU instance's memory bandwidth used between two collections, as a share of the most possible, 0 to 1.",
    "GPM 10",
    _MIG_GPM,
    *INSTANCE,
)

# Processes
_LISTS = "GetComputeRunningProcesses, GetGraphics..., GetMPSCompute..."
PROCESSES = _gauge(
    "gpu_processes", "Processes that use this GPU, by type: compute, graphics, mps.", _LISTS, "WSL2", "type"
)
PROCESS_MEMORY_USED = _gauge(
    "gpu_process_memory_used_bytes",
    "GPU memory of one process, of those that use most. container and unit come from its cgroup and are empty where it "
    "cannot be read or names none; pid is the host's.",
    f"{_LISTS}, /proc/PID/cgroup",
    "MIG mode without the right to ask, WSL2",
    "pid",
    "gpu_instance",
    "container",
    "unit",
)
MEMORY_UNATTRIBUTED = _gauge(
    "gpu_memory_unattributed_bytes",
    "Memory in use that no living process holds: some hundred MiB of the driver's own are normal, much more is what a "
    "process left behind that ended badly.",
    f"GetMemoryInfo, {_LISTS}",
    "where the driver does not tell a process's memory, or memory is unified",
)

ALL = tuple(value for value in list(globals().values()) if isinstance(value, Metric))

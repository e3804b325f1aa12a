"""Every metric of the GPU exporter. Hardware series carry `gpu` (NVML index) and `uuid`; the scrape adds `node`."""

from exporters.gpu import hardware_metrics
from inferwatch.metric import Metric

GPU = ("gpu", "uuid")

# Health of the exporter itself
BUILD_INFO = Metric(
    "gpu_exporter_build_info",
    "gauge",
    "Versions of the GPU exporter and what it runs on, always 1.",
    ("version", "python_version", "nvidia_ml_py_version"),
)
NVML_UP = Metric("gpu_exporter_nvml_up", "gauge", "Whether NVML is initialised (1) or not (0).")
NVML_INIT_ERROR_CODE = Metric(
    "gpu_exporter_nvml_init_error_code",
    "gauge",
    "The code that the last attempt to initialise NVML returned; 0 is success, 9 driver not loaded, "
    "12 library not found, 18 driver and library differ.",
)
NVML_REINITS = Metric(
    "gpu_exporter_nvml_reinits_total",
    "counter",
    "How often NVML was initialised again: it was lost, GPUs came or went, or a release ended.",
)
NVML_ERRORS = Metric(
    "gpu_exporter_nvml_errors_total",
    "counter",
    "NVML calls that failed, without those that the GPU does not support.",
    ("function", "code"),
)
DEVICES = Metric("gpu_exporter_devices", "gauge", "How many GPUs NVML reports now.", source="GetCount")
WEB_CONFIG_RELOAD_SUCCESSFUL = Metric(
    "gpu_exporter_web_config_last_reload_successful",
    "gauge",
    "Whether the last attempt to read --web.config.file and its certificates succeeded (1) or not (0); "
    "absent without that flag.",
)
SIMULATED = Metric(
    "gpu_exporter_simulated", "gauge", "Whether every GPU of this exporter is simulated (1) or real (0)."
)
REJECTED_VALUES = Metric(
    "gpu_exporter_rejected_values_total",
    "counter",
    "Values that the driver answered and that cannot be; they are left out, and the log names the metric.",
)
COLLECTOR_SUCCESS = Metric(
    "gpu_exporter_collector_success",
    "gauge",
    "Whether the collector succeeded on every GPU that is up in the last cycle (1) or not (0).",
    ("collector",),
)
COLLECTOR_DURATION = Metric(
    "gpu_exporter_collector_duration_seconds",
    "gauge",
    "How long the collector took in the last cycle, summed over the GPUs that are up.",
    ("collector",),
)

# Faults, and the life of the GPUs
DEVICES_EXPECTED = Metric(
    "gpu_exporter_devices_expected",
    "gauge",
    "How many GPUs there should be, by source: config is --gpu.expected; pci counts those on the PCI bus that are "
    "awake and not another driver's, and is absent in a container with only some.",
    ("source",),
)
RELEASED = Metric(
    "gpu_exporter_released",
    "gauge",
    "Whether the GPUs are released for maintenance, and no handle is held (1) or not (0).",
)
SUSPENDED_DEVICES = Metric(
    "gpu_exporter_suspended_devices",
    "gauge",
    "How many GPUs on the PCI bus are suspended by runtime power management; they are not woken.",
)
SUSPENDED = Metric(
    "gpu_suspended",
    "gauge",
    "Whether this GPU is suspended by runtime power management and was not asked (1) or not (0); while it is, gpu_up "
    "and its other values are absent.",
    GPU,
)
XID_ERRORS = Metric(
    "gpu_xid_errors_total",
    "counter",
    "Faults that the driver reported for this GPU since the exporter started, by XID; one that both NVML and the "
    "kernel's log (kmsg) tell of counts once, as nvml.",
    (*GPU, "xid", "source"),
)
XID_INFO = Metric(
    "gpu_xid_info",
    "gauge",
    "What an XID means, always 1: severity is critical, warning or application; action is what to do first.",
    ("xid", "severity", "action"),
)
XID_SOURCE = Metric(
    "gpu_exporter_xid_source",
    "gauge",
    "Whether XIDs are read from this source now (1) or not (0).",
    ("source",),
)

# Health of one GPU
UP = Metric("gpu_up", "gauge", "Whether the last collection of this GPU succeeded (1) or not (0).", GPU)
LAST_ERROR_CODE = Metric(
    "gpu_last_error_code",
    "gauge",
    "The NVML code of the last failed collection of this GPU; 0 is none, 15 GPU is lost, 16 reset required.",
    GPU,
)
STUCK = Metric(
    "gpu_stuck",
    "gauge",
    "Whether a collection of this GPU hangs inside the driver, past its deadline (1) or not (0).",
    GPU,
)
LAST_COLLECTION_TIMESTAMP = Metric(
    "gpu_last_collection_timestamp_seconds",
    "gauge",
    "When this GPU was last collected with success, as Unix time.",
    GPU,
)
COLLECTION_DURATION = Metric(
    "gpu_collection_duration_seconds", "gauge", "How long the last collection of this GPU took.", GPU
)

# Identity
INFO = Metric(
    "gpu_info",
    "gauge",
    "What this GPU is, always 1; what it does not tell is empty.",
    (
        *GPU,
        "name",
        "brand",
        "architecture",
        "compute_capability",
        "pci_bus_id",
        "serial",
        "board_part_number",
        "vbios_version",
        "minor_number",
    ),
    source="GetName, GetPciInfo and others",
)
DRIVER_INFO = Metric(
    "gpu_driver_info",
    "gauge",
    "The driver's versions, always 1.",
    ("driver_version", "cuda_version", "nvml_version"),
    source="nvmlSystemGetDriverVersion and others",
)

# Work
UTILIZATION = Metric(
    "gpu_utilization_ratio",
    "gauge",
    "Share of the driver's last sample period in which a kernel ran, 0 to 1.",
    GPU,
    source="GetUtilizationRates",
    absent="GPUs in MIG mode, WSL2",
)
MEMORY_COPY_UTILIZATION = Metric(
    "gpu_memory_copy_utilization_ratio",
    "gauge",
    "Share of the driver's last sample period in which memory was read or written, 0 to 1.",
    GPU,
    source="GetUtilizationRates",
    absent="GPUs in MIG mode, WSL2",
)
MEMORY_TOTAL = Metric(
    "gpu_memory_total_bytes",
    "gauge",
    "Memory of this GPU.",
    GPU,
    source="GetMemoryInfo",
    absent="GPUs that share the host's memory",
)
MEMORY_USED = Metric(
    "gpu_memory_used_bytes",
    "gauge",
    "Memory allocated on this GPU, without what the driver reserves; with it, where the reserved bytes are absent.",
    GPU,
    source="GetMemoryInfo",
    absent="GPUs that share the host's memory",
)
MEMORY_FREE = Metric(
    "gpu_memory_free_bytes",
    "gauge",
    "Memory free on this GPU.",
    GPU,
    source="GetMemoryInfo",
    absent="GPUs that share the host's memory",
)
MEMORY_RESERVED = Metric(
    "gpu_memory_reserved_bytes",
    "gauge",
    "Memory that the driver reserves for itself.",
    GPU,
    source="GetMemoryInfo (v2)",
    absent="drivers before 510",
)
CLOCK = Metric("gpu_clock_hertz", "gauge", "Clock frequency now.", (*GPU, "domain"), source="GetClockInfo")
CLOCK_MAX = Metric(
    "gpu_clock_max_hertz",
    "gauge",
    "Highest clock frequency that this GPU can run at.",
    (*GPU, "domain"),
    source="GetMaxClockInfo",
)

# Heat and power
TEMPERATURE = Metric(
    "gpu_temperature_celsius", "gauge", "Temperature of the GPU die.", GPU, source="GetTemperatureV, GetTemperature"
)
POWER_USAGE = Metric(
    "gpu_power_usage_watts",
    "gauge",
    "Power drawn by the board, as the driver averages it.",
    GPU,
    source="GetPowerUsage",
)
POWER_LIMIT = Metric(
    "gpu_power_limit_watts", "gauge", "The power limit that is set on this GPU.", GPU, source="GetPowerManagementLimit"
)
POWER_LIMIT_ENFORCED = Metric(
    "gpu_power_limit_enforced_watts",
    "gauge",
    "The power limit that applies, the lowest of all that are in force.",
    GPU,
    source="GetEnforcedPowerLimit",
)
ENERGY = Metric(
    "gpu_energy_joules_total",
    "counter",
    "Energy used since the driver was loaded.",
    GPU,
    source="GetTotalEnergyConsumption",
    absent="GPUs before Volta, vGPU",
)

# Throttling
REASON_HELP = "sw_power_cap, hw_slowdown, sw_thermal_slowdown, hw_thermal_slowdown, hw_power_brake_slowdown and others"
CLOCKS_EVENT_ACTIVE = Metric(
    "gpu_clocks_event_active",
    "gauge",
    f"Whether this reason holds the clocks down now (1) or not (0): {REASON_HELP}.",
    (*GPU, "reason"),
    source="GetCurrentClocksEventReasons",
)
CLOCKS_EVENT_SECONDS = Metric(
    "gpu_clocks_event_seconds_total",
    "counter",
    "Time in which this reason held the clocks down, counted by the driver; absent where it has no such counter.",
    (*GPU, "reason"),
    source="fields 74, 76; 251 to 253 or 269 to 271",
    absent="slowdown reasons: drivers before 575, and 580.66 to 580.81",
)
CLOCKS_EVENT_SAMPLED_SECONDS = Metric(
    "gpu_clocks_event_sampled_seconds_total",
    "counter",
    "Time in which this reason held the clocks down, integrated by the exporter from samples of its own.",
    (*GPU, "reason"),
    source="GetCurrentClocksEventReasons, sampled",
)
CLOCKS_EVENT_EPISODES = Metric(
    "gpu_clocks_event_episodes_total",
    "counter",
    "How often this reason began to hold the clocks down, as sampled.",
    (*GPU, "reason"),
    source="GetCurrentClocksEventReasons, sampled",
)
# The reasons that do harm; a power cap alone does not (design: "Throttled").
HARMFUL_REASONS = ("hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown")

ALL = (*(value for value in list(globals().values()) if isinstance(value, Metric)), *hardware_metrics.ALL)

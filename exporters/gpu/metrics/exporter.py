"""The health of the exporter itself."""

from inferwatch.metric import Metric

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
DEVICES_EXPECTED = Metric(
    "gpu_exporter_devices_expected",
    "gauge",
    "How many GPUs there should be, by source: config is --gpu.expected; pci counts those on the PCI bus that are "
    "awake and not another driver's, and is absent in a container with only some.",
    ("source",),
)
SUSPENDED_DEVICES = Metric(
    "gpu_exporter_suspended_devices",
    "gauge",
    "How many GPUs on the PCI bus are suspended by runtime power management; they are not woken.",
)
RELEASED = Metric(
    "gpu_exporter_released",
    "gauge",
    "Whether the GPUs are released for maintenance, and no handle is held (1) or not (0).",
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
WEB_CONFIG_RELOAD_SUCCESSFUL = Metric(
    "gpu_exporter_web_config_last_reload_successful",
    "gauge",
    "Whether the last attempt to read --web.config.file and its certificates succeeded (1) or not (0); "
    "absent without that flag.",
)

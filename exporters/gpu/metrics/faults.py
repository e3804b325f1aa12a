"""The faults that the driver reports."""

from exporters.gpu.metrics.declare import counter
from inferwatch.metric import Metric

XID_ERRORS = counter(
    "gpu_xid_errors_total",
    "Faults that the driver reported for this GPU since the exporter started, by XID; one that both NVML and the "
    "kernel's log (kmsg) tell of counts once, as nvml.",
    "xid",
    "source",
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

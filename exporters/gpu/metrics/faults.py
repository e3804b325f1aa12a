"""The faults that the driver reports."""

from exporters.gpu.metrics.declare import counter, gauge
from inferwatch.metric import Metric

XID_ERRORS = counter(
    "gpu_xid_errors_total",
    "Faults that the driver reported for this GPU since the exporter started, by XID; one that both NVML and the "
    "kernel's log (kmsg) tell of counts once, as nvml.",
    "xid",
    "source",
    source="EventSetWait, the kernel's log",
    absent="XIDs that did not happen and are not pre-created",
)
XID_LAST_TIMESTAMP = gauge(
    "gpu_xid_last_timestamp_seconds",
    "When this GPU last reported this XID since the exporter started, as Unix time.",
    "xid",
    source="EventSetWait, the kernel's log",
    absent="XIDs that did not happen",
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
EVENTS = counter(
    "gpu_events_total",
    "What the driver reported of this GPU besides XIDs since the exporter started, by type; absent before the first.",
    "type",
    source="EventSetWait, of the types in GetSupportedEventTypes",
    absent="types that the GPU does not report",
)

"""How full the memory of a GPU is."""

from exporters.gpu.metrics.declare import gauge

_SHARED = "GPUs that share the host's memory"
_OWN = "GPUs with memory of their own"
MEMORY_TOTAL = gauge("gpu_memory_total_bytes", "Memory of this GPU.", source="GetMemoryInfo", absent=_SHARED)
MEMORY_USED = gauge(
    "gpu_memory_used_bytes",
    "Memory allocated on this GPU, without what the driver reserves; with it, where the reserved bytes are absent.",
    source="GetMemoryInfo",
    absent=_SHARED,
)
MEMORY_FREE = gauge("gpu_memory_free_bytes", "Memory free on this GPU.", source="GetMemoryInfo", absent=_SHARED)
MEMORY_RESERVED = gauge(
    "gpu_memory_reserved_bytes",
    "Memory that the driver reserves for itself.",
    source="GetMemoryInfo (v2)",
    absent="drivers before 510",
)
MEMORY_UNIFIED = gauge(
    "gpu_memory_unified",
    "This GPU has no memory of its own and uses the host's, always 1.",
    source="GetMemoryInfo, GetName",
    absent=_OWN,
)
UNIFIED_TOTAL = gauge(
    "gpu_unified_system_memory_total_bytes",
    "Memory of the host, which this GPU shares.",
    source="/proc/meminfo MemTotal",
    absent=_OWN,
)
UNIFIED_AVAILABLE = gauge(
    "gpu_unified_system_memory_available_bytes",
    "Memory of the host, which this GPU shares, that a program could still get.",
    source="/proc/meminfo MemAvailable",
    absent=_OWN,
)
BAR1_TOTAL = gauge(
    "gpu_bar1_memory_total_bytes",
    "Size of the window through which the host reaches its memory.",
    source="GetBAR1MemoryInfo",
)
BAR1_USED = gauge("gpu_bar1_memory_used_bytes", "How much of that window is in use.", source="GetBAR1MemoryInfo")
PROTECTED_MEMORY_USED = gauge(
    "gpu_confidential_compute_protected_memory_used_bytes",
    "Protected memory of this GPU that is in use.",
    source="GetConfComputeProtectedMemoryUsage",
    absent="GPUs without confidential computing, or where it is off",
)

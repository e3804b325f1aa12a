"""The processes that use a GPU."""

from exporters.gpu.metrics.declare import gauge

_LISTS = "GetComputeRunningProcesses, GetGraphics..., GetMPSCompute..."
PROCESSES = gauge(
    "gpu_processes",
    "Processes that use this GPU, by type: compute, graphics, mps.",
    "type",
    source=_LISTS,
    absent="WSL2",
)
PROCESS_MEMORY_USED = gauge(
    "gpu_process_memory_used_bytes",
    "GPU memory of one process, of those that use most. container and unit come from its cgroup and are empty where it "
    "cannot be read or names none; pid is the host's.",
    "pid",
    "gpu_instance",
    "container",
    "unit",
    source=f"{_LISTS}, /proc/PID/cgroup",
    absent="MIG mode without the right to ask, WSL2",
)
PROCESS_SM_UTILIZATION = gauge(
    "gpu_process_sm_utilization_ratio",
    "Share of the multiprocessors' time that one process used, 0 to 1, in its last sample since the collection before; "
    "absent when it used none.",
    "pid",
    "container",
    "unit",
    source="GetProcessUtilization, /proc/PID/cgroup",
    absent="GPUs in MIG mode, WSL2",
)
MEMORY_UNATTRIBUTED = gauge(
    "gpu_memory_unattributed_bytes",
    "Memory in use that no living process holds: some hundred MiB of the driver's own are normal, much more is what a "
    "process left behind that ended badly.",
    source=f"GetMemoryInfo, {_LISTS}",
    absent="where the driver does not tell a process's memory, or memory is unified",
)

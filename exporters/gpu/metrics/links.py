"""PCIe and NVLink."""

from exporters.gpu.metrics.declare import DRIVERS_BEFORE, counter, gauge

PCIE_GENERATION = gauge(
    "gpu_pcie_link_generation",
    "PCIe generation that the link runs at; falls when the GPU is idle.",
    source="GetCurrPcieLinkGeneration",
)
PCIE_GENERATION_MAX = gauge(
    "gpu_pcie_link_generation_max",
    "Highest PCIe generation of GPU and slot together.",
    source="GetMaxPcieLinkGeneration",
)
PCIE_WIDTH = gauge("gpu_pcie_link_width", "Lanes that the PCIe link uses.", source="GetCurrPcieLinkWidth")
PCIE_WIDTH_MAX = gauge("gpu_pcie_link_width_max", "Lanes that the PCIe link could use.", source="GetMaxPcieLinkWidth")
PCIE_REPLAYS = counter("gpu_pcie_replays_total", "PCIe packets that were sent again.", source="GetPcieReplayCounter")
_PCIE_BYTES = "drivers before 560, vGPU, and GPUs that count in 32 bits, such as L40S"
PCIE_TRANSMITTED = counter(
    "gpu_pcie_transmit_bytes_total", "Bytes that the GPU sent over PCIe.", source="field 197", absent=_PCIE_BYTES
)
PCIE_RECEIVED = counter(
    "gpu_pcie_receive_bytes_total", "Bytes that the GPU received over PCIe.", source="field 198", absent=_PCIE_BYTES
)
PCIE_TRANSMITTING = gauge(
    "gpu_pcie_transmit_bytes_per_second",
    "Bytes a second that the GPU sent over PCIe, between two collections, or in 20 ms of the last one where there "
    "is no GPM.",
    source="GPM 20; GetPcieThroughput(tx), which blocks for 20 ms",
    absent="vGPU",
)
PCIE_RECEIVING = gauge(
    "gpu_pcie_receive_bytes_per_second",
    "Bytes a second that the GPU received over PCIe, between two collections, or in 20 ms of the last one where there "
    "is no GPM.",
    source="GPM 21; GetPcieThroughput(rx), which blocks for 20 ms",
    absent="vGPU",
)
PCIE_RECOVERIES = counter(
    "gpu_pcie_recoveries_total",
    "How often the PCIe link had to be trained again.",
    source="field 169",
    absent=DRIVERS_BEFORE.format(535),
)
PCIE_ERRORS = counter(
    "gpu_pcie_errors_total",
    "Errors on the PCIe link by type.",
    "type",
    source="fields 173 to 182",
    absent=DRIVERS_BEFORE.format(535),
)
_NO_NVLINK = "GPUs without NVLink"
NVLINK_LINKS = gauge(
    "gpu_nvlink_links", "How many NVLinks the GPU has.", source="field 91, GetNvLinkState", absent=_NO_NVLINK
)
NVLINK_LINKS_UP = gauge("gpu_nvlink_links_up", "How many NVLinks are up.", source="GetNvLinkState", absent=_NO_NVLINK)
NVLINK_TRANSMITTED = counter(
    "gpu_nvlink_transmit_bytes_total",
    "Bytes of data sent over all NVLinks.",
    source="field 138 of all links; NVLink 5: 202",
    absent=_NO_NVLINK,
)
NVLINK_RECEIVED = counter(
    "gpu_nvlink_receive_bytes_total",
    "Bytes of data received over all NVLinks.",
    source="field 139 of all links; NVLink 5: 204",
    absent=_NO_NVLINK,
)
NVLINK_ERRORS = counter(
    "gpu_nvlink_errors_total",
    "Errors on all NVLinks by type.",
    "type",
    source="fields 161 to 163; NVLink 5: 206 to 212, 214, 219, 221",
    absent=_NO_NVLINK,
)
NVLINK_UP = gauge(
    "gpu_nvlink_up", "Whether this NVLink is up (1) or not (0).", "link", source="GetNvLinkState", absent=_NO_NVLINK
)
NVLINK_SPEED = gauge(
    "gpu_nvlink_speed_bytes_per_second",
    "How fast this NVLink is.",
    "link",
    source="field 164 of each link",
    absent=_NO_NVLINK,
)
NVLINK_LINK_ERRORS = counter(
    "gpu_nvlink_link_errors_total",
    "Errors on this NVLink by type.",
    "link",
    "type",
    source=NVLINK_ERRORS.source,
    absent=_NO_NVLINK,
)
_NO_FABRIC = "GPUs without NVSwitches, drivers before 550"
FABRIC_STATE = gauge(
    "gpu_fabric_state",
    "Whether this GPU has joined the fabric of its NVSwitches: 1 not begun, 2 in progress, 3 completed; see "
    "gpu_fabric_status for how.",
    source="GetGpuFabricInfoV",
    absent=_NO_FABRIC,
)
FABRIC_STATUS = gauge(
    "gpu_fabric_status",
    "The NVML code with which joining the fabric ended, 0 is success; absent until it is completed.",
    source="GetGpuFabricInfoV",
    absent=_NO_FABRIC,
)
FABRIC_PROBLEM = gauge(
    "gpu_fabric_problem",
    "Whether the fabric has this problem at this GPU (1) or not (0): degraded_bandwidth, route_recovery, "
    "route_unhealthy, access_timeout_recovery, incorrect_configuration.",
    "problem",
    source="GetGpuFabricInfoV",
    absent=f"{_NO_FABRIC}; problems that the driver does not tell of",
)
_NO_C2C = "GPUs without a CPU on their module, drivers before 520"
C2C_LINKS = gauge(
    "gpu_c2c_links",
    "How many links there are between this GPU and the CPU of its module.",
    source="field 170",
    absent=_NO_C2C,
)
C2C_LINKS_ACTIVE = gauge(
    "gpu_c2c_links_active",
    "How many links between this GPU and the CPU of its module are active.",
    source="field 171 of each link",
    absent=_NO_C2C,
)

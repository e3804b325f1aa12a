"""What can be asked of a GPU by name. The unit is the name's last word, else a count or an enumeration of NVML's."""

from typing import Literal

ClockDomain = Literal["graphics", "sm", "memory", "video"]
CLOCK_DOMAINS: tuple[ClockDomain, ...] = ("graphics", "sm", "memory", "video")

Fact = Literal[
    "name",
    "brand",
    "architecture",
    "compute_capability",
    "pci_bus_id",
    "serial",
    "board_part_number",
    "vbios_version",
    "minor_number",
]
# What one number says about a GPU.
Reading = Literal[
    "persistence_mode",
    "ecc_mode",
    "ecc_mode_pending",
    "mig_mode",
    "mig_mode_pending",
    "gsp_mode",
    "accounting_mode",
    "compute_mode",
    "performance_state",
    "encoder_percent",
    "decoder_percent",
    "jpeg_percent",
    "ofa_percent",
    "bar1_total_bytes",
    "bar1_used_bytes",
    "memory_celsius",
    "margin_celsius",
    "shutdown_celsius",
    "slowdown_celsius",
    "memory_max_celsius",
    "gpu_max_celsius",
    "shutdown_tlimit_celsius",
    "slowdown_tlimit_celsius",
    "memory_max_tlimit_celsius",
    "gpu_max_tlimit_celsius",
    "instant_milliwatts",
    "module_milliwatts",
    "memory_milliwatts",
    "default_limit_milliwatts",
    "lowest_limit_milliwatts",
    "highest_limit_milliwatts",
    "customer_boost_megahertz",
    "ecc_corrected",
    "ecc_uncorrected",
    "ecc_corrected_ever",
    "ecc_uncorrected_ever",
    "retired_single_bit",
    "retired_double_bit",
    "retirement_pending",
    "channel_repair_pending",
    "tpc_repair_pending",
    "unrepairable_memory",
    "recovery_action",
    "pcie_generation",
    "pcie_generation_max",
    "pcie_width",
    "pcie_width_max",
    "pcie_replays",
    "pcie_recoveries",
    "pcie_transmitted_bytes",
    "pcie_received_bytes",
    "pcie_transmitting_kilobytes_per_second",
    "pcie_receiving_kilobytes_per_second",
    "pcie_correctable_errors",
    "pcie_nonfatal_errors",
    "pcie_fatal_errors",
    "pcie_receiver_errors",
    "pcie_bad_tlp",
    "pcie_bad_dllp",
    "pcie_naks_sent",
    "pcie_naks_received",
    "pcie_lcrc_errors",
    "pcie_unsupported_requests",
]
SampleKind = Literal["utilization_percent", "power_milliwatts"]
ProcessKind = Literal["compute", "graphics", "mps"]
PROCESS_KINDS: tuple[ProcessKind, ...] = ("compute", "graphics", "mps")
# By GPM (GPU performance monitoring, Hopper and newer), between two looks: shares of time or of what is possible in
# percent, and what went over PCIe in MiB a second.
Activity = Literal[
    "graphics",
    "sm",
    "sm_occupancy",
    "tensor",
    "dram",
    "int",
    "fp64",
    "fp32",
    "fp16",
    "hmma",
    "imma",
    "dfma",
    "pcie_transmit",
    "pcie_receive",
]
ErrorKind = Literal["corrected", "uncorrected"]
ERROR_KINDS: tuple[ErrorKind, ...] = ("corrected", "uncorrected")
# Where memory errors are counted; a GPU has some of these.
Location = Literal[
    "l1_cache", "l2_cache", "dram", "register_file", "texture_memory", "texture_shared_memory", "cbu", "sram"
]
LOCATIONS: tuple[Location, ...] = (
    "l1_cache",
    "l2_cache",
    "dram",
    "register_file",
    "texture_memory",
    "texture_shared_memory",
    "cbu",
    "sram",
)
# What the driver reports besides XIDs.
Happening = Literal[
    "ecc_single",
    "ecc_double",
    "ecc_single_storm",
    "dram_retirement",
    "dram_retirement_failure",
    "poison_nonfatal",
    "poison_fatal",
    "gpu_unavailable",
    "recovery_action",
    "mig_config_change",
    "power_source_change",
]

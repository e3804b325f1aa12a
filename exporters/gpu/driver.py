"""What the exporter asks of a GPU driver. `nvml` answers from hardware and `simulated` from a curve.

Values are in NVML's own units; the collectors turn them into base units. Every method may raise a `DriverError`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from exporters.gpu.errors import UnsupportedError

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
# What one number says about a GPU. The unit is the name's last word, else a count or an enumeration of NVML's.
Reading = Literal[
    "persistence_mode",
    "ecc_mode",
    "ecc_mode_pending",
    "mig_mode",
    "mig_mode_pending",
    "gsp_mode",
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
    "default_limit_milliwatts",
    "lowest_limit_milliwatts",
    "highest_limit_milliwatts",
    "ecc_corrected",
    "ecc_uncorrected",
    "ecc_corrected_ever",
    "ecc_uncorrected_ever",
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
# Shares of time or of what is possible, in percent, by GPM (GPU performance monitoring, Hopper and newer).
Activity = Literal[
    "graphics", "sm", "sm_occupancy", "tensor", "dram", "int", "fp64", "fp32", "fp16", "hmma", "imma", "dfma"
]


@dataclass(frozen=True)
class Versions:
    """The driver's versions; one that it does not tell is empty."""

    driver: str
    cuda: str
    nvml: str


@dataclass(frozen=True)
class Utilization:
    """Percent of the driver's last sample period, 0 to 100."""

    gpu: int
    memory: int


@dataclass(frozen=True)
class Memory:
    """Bytes. Where `reserved` is None the driver told only version 1, whose `used` includes what is reserved."""

    total: int
    used: int
    free: int
    reserved: int | None


@dataclass(frozen=True)
class Observed:
    """One sample of the driver's own; `microseconds` is Unix time."""

    microseconds: int
    value: int


@dataclass(frozen=True)
class RemappedRows:
    """How many rows of memory were replaced, and whether a replacement waits for a reset or failed."""

    correctable: int
    uncorrectable: int
    pending: int
    failed: int


@dataclass(frozen=True)
class NvLink:
    """All links of one GPU together.

    Attributes:
        links: How many it has.
        up: How many of them are up.
        transmitted: Bytes of data sent; None where there is no such counter.
        received: Bytes of data received; None where there is no such counter.
        errors: Errors by type, of the types that are counted.
    """

    links: int
    up: int
    transmitted: int | None
    received: int | None
    errors: Mapping[str, int]


@dataclass(frozen=True)
class Process:
    """A process that uses a GPU.

    Attributes:
        pid: Its id, in the host's PID namespace.
        used: Bytes of GPU memory; None where the driver does not say.
        gpu_instance: Of a GPU in MIG mode, else None.
    """

    pid: int
    used: int | None
    gpu_instance: int | None


@dataclass(frozen=True)
class MigInstance:
    """One compute instance of a GPU in MIG mode; `memory` is that of its GPU instance, which several may share."""

    uuid: str
    gpu_instance: int
    compute_instance: int
    profile: str
    memory: Memory | None


class Device(Protocol):
    """One GPU. What a driver has not, it need not define: the method then raises `UnsupportedError`."""

    # Its identity; the index may change at a reboot.
    uuid: str
    # The version of the driver that serves it.
    driver_version: str

    def fact(self, fact: Fact) -> str:
        """Return something that never changes."""

    def pci_bus_id(self) -> str:
        """Return its address, such as ``00000000:0F:00.0``."""
        return self.fact("pci_bus_id")

    def utilization(self) -> Utilization:
        """Return how busy it was in the last sample period."""

    def memory(self) -> Memory:
        """Return how its memory is used."""

    def temperature(self) -> int:
        """Return the temperature of the die in degrees Celsius."""

    def clock(self, domain: ClockDomain) -> int:
        """Return a clock in MHz."""

    def max_clock(self, domain: ClockDomain) -> int:
        """Return the highest clock that it can run at, in MHz."""

    def power_usage(self) -> int:
        """Return the power drawn in milliwatts."""

    def power_limit(self) -> int:
        """Return the power limit that is set, in milliwatts."""

    def enforced_power_limit(self) -> int:
        """Return the power limit that applies, in milliwatts."""

    def energy(self) -> int:
        """Return the energy used since the driver was loaded, in millijoules."""

    def clocks_event_reasons(self) -> int:
        """Return the reasons that hold the clocks down at this instant, as the bits in `reasons.BITS`."""

    def supported_clocks_event_reasons(self) -> int:
        """Return the reasons that this GPU can report, as the same bits."""

    def counters(self, fields: Sequence[int]) -> dict[int, int]:
        """Return the unsigned 64-bit counters among these field ids; what it does not support is left out."""

    def reading(self, reading: Reading) -> int:
        """Return one number."""
        raise _unsupported(reading)

    def samples(self, kind: SampleKind, since: int) -> list[Observed]:
        """Return the samples that the driver took after this time (microseconds); there may be none."""
        raise _unsupported(f"samples of {kind} since {since}")

    def remapped_rows(self) -> RemappedRows:
        """Return how its memory was repaired."""
        raise _unsupported("remapped rows")

    def nvlink(self) -> NvLink:
        """Return its NVLinks; a GPU without any is not supported."""
        raise _unsupported("nvlink")

    def activity(self) -> dict[Activity, float]:
        """Return what was active between the call before and this one; nothing at the first."""
        raise _unsupported("activity")

    def mig_activity(self, gpu_instance: int) -> dict[Activity, float]:
        """Return the same for one GPU instance."""
        raise _unsupported(f"activity of GPU instance {gpu_instance}")

    def mig_instances(self) -> list[MigInstance]:
        """Return the instances of a GPU that is in MIG mode; none when it is not in it."""
        raise _unsupported("MIG")

    def processes(self, kind: ProcessKind) -> list[Process]:
        """Return the processes of this kind."""
        raise _unsupported(f"{kind} processes")

    def fan_speeds(self) -> list[int]:
        """Return how fast each fan should turn, in percent of the highest speed; may be above 100."""
        raise _unsupported("fans")


@dataclass(frozen=True)
class XidEvent:
    """An XID that the driver reports; `uuid` is empty where it does not say of which GPU."""

    uuid: str
    xid: int


class XidEvents(Protocol):
    """The XIDs of the GPUs that are watched."""

    def watch(self, device: Device) -> None:
        """Watch a GPU; more than once does no harm."""

    def wait(self, seconds: float) -> XidEvent | None:
        """Return the next XID, or None when none came."""

    def close(self) -> None:
        """Watch none any more."""


class Driver(Protocol):
    """The library that reaches every GPU of this machine."""

    @property
    def simulated(self) -> bool:
        """Whether its GPUs are made up."""

    def open(self) -> None:
        """Initialise; may be called again after `close` or after a failure."""

    def close(self) -> None:
        """Give back what `open` took."""

    def versions(self) -> Versions:
        """Return the versions of the driver and its library."""

    def device_count(self) -> int:
        """Return how many GPUs there are, lost ones included."""

    def device(self, index: int) -> Device:
        """Return the GPU at this index; raises `GpuDeadError` when it is lost."""

    def xid_events(self) -> XidEvents:
        """Begin to watch for XIDs; raises `UnsupportedError` where the driver does not report them."""


def _unsupported(what: str) -> UnsupportedError:
    return UnsupportedError(what, 3, "not_supported")

"""What the exporter asks of a GPU driver. `nvml` answers from hardware and `simulated` from a curve.

Values are in NVML's own units; the collectors turn them into base units. Every method may raise a `DriverError`.
"""

from collections.abc import Sequence
from typing import Protocol

from exporters.gpu.answers import (
    C2cLinks,
    ConfidentialComputing,
    Fabric,
    GpuEvent,
    Link,
    Memory,
    MigInstance,
    NvLink,
    Observed,
    Platform,
    Process,
    ProcessUse,
    RemappedRows,
    RowBanks,
    SramErrors,
    Utilization,
    Versions,
    XidEvent,
)
from exporters.gpu.errors import UnsupportedError
from exporters.gpu.questions import Activity, ClockDomain, ErrorKind, Fact, Location, ProcessKind, Reading, SampleKind


class Device(Protocol):
    """One GPU. What a driver has not, it need not define: the method then raises `UnsupportedError`."""

    # Its identity; the index may change at a reboot.
    uuid: str
    # The version of the driver that serves it.
    driver_version: str

    @property
    def answered(self) -> int:
        """How many calls the driver has answered; what is remembered of an earlier answer counts for nothing."""

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

    def row_banks(self) -> RowBanks:
        """Return how much room there is for further repairs of its memory."""
        raise _unsupported("row banks")

    def memory_errors(self, location: Location, kind: ErrorKind) -> int:
        """Return the memory errors in one place since the driver was loaded."""
        raise _unsupported(f"{kind} errors of {location}")

    def sram_errors(self) -> SramErrors:
        """Return what went wrong in its caches."""
        raise _unsupported("SRAM errors")

    def inforom_valid(self) -> bool:
        """Return whether what the board knows of itself is intact; reads slow flash memory, at the first call only."""
        raise _unsupported("InfoROM")

    def platform(self) -> Platform:
        """Return where it sits in a rack-scale machine."""
        raise _unsupported("platform")

    def fabric(self) -> Fabric:
        """Return how it stands in the fabric of its NVSwitches."""
        raise _unsupported("fabric")

    def c2c(self) -> C2cLinks:
        """Return its links to the CPU of its module; a GPU without any is not supported."""
        raise _unsupported("C2C")

    def confidential_computing(self) -> ConfidentialComputing:
        """Return whether its memory is closed to the host."""
        raise _unsupported("confidential computing")

    def links(self) -> list[Link]:
        """Return each NVLink; a GPU without any is not supported."""
        raise _unsupported("links")

    def nvlink(self) -> NvLink:
        """Return its NVLinks together; a GPU without any is not supported."""
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

    def process_use(self, since: int) -> list[ProcessUse]:
        """Return what processes used after this time (microseconds); one that used nothing is not there."""
        raise _unsupported(f"use by processes since {since}")

    def fan_rpms(self) -> list[int]:
        """Return how often each fan turns in a minute."""
        raise _unsupported("fan RPM")

    def fan_speeds(self) -> list[int]:
        """Return how fast each fan should turn, in percent of the highest speed; may be above 100."""
        raise _unsupported("fans")


class XidEvents(Protocol):
    """The XIDs and other events of the GPUs that are watched."""

    def watch(self, device: Device) -> None:
        """Watch a GPU; more than once does no harm."""

    def wait(self, seconds: float) -> XidEvent | GpuEvent | None:
        """Return the next event, or None when none came."""

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

"""What the exporter asks of a GPU driver. `nvml` answers from hardware and `simulated` from a curve.

Values are in NVML's own units; the collectors turn them into base units. Every method may raise a `DriverError`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

ClockDomain = Literal["graphics", "sm", "memory", "video"]
CLOCK_DOMAINS: tuple[ClockDomain, ...] = ("graphics", "sm", "memory", "video")


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


class Device(Protocol):
    """One GPU."""

    @property
    def uuid(self) -> str:
        """Its identity; the index may change at a reboot."""

    @property
    def driver_version(self) -> str:
        """The version of the driver that serves it."""

    def name(self) -> str:
        """Return the product's name."""

    def pci_bus_id(self) -> str:
        """Return its address, such as ``00000000:0F:00.0``."""

    def vbios_version(self) -> str:
        """Return the version of its firmware."""

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

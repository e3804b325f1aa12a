"""What a driver answers, in NVML's own units."""

from collections.abc import Mapping
from dataclasses import dataclass


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


@dataclass(frozen=True)
class XidEvent:
    """An XID that the driver reports; `uuid` is empty where it does not say of which GPU."""

    uuid: str
    xid: int

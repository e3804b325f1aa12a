"""What a driver answers, in NVML's own units."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from exporters.gpu.questions import Happening


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


class Observed(NamedTuple):
    """One sample of the driver's own, of which there may be a hundred at once; `microseconds` is Unix time."""

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
class RowBanks:
    """How many banks of memory have how many spare rows left: all, many, some, few, none."""

    max: int
    high: int
    partial: int
    low: int
    none: int


@dataclass(frozen=True)
class SramErrors:
    """What went wrong in the caches.

    Attributes:
        threshold_exceeded: Whether the board is due for exchange because of it.
        uncorrected: Uncorrected errors in the board's life, by the part that had them.
    """

    threshold_exceeded: bool
    uncorrected: Mapping[str, int]


@dataclass(frozen=True)
class Platform:
    """Where a GPU sits in a rack-scale machine; what it does not tell is empty."""

    chassis_serial: str
    slot: str
    tray: str
    host: str
    module: str


@dataclass(frozen=True)
class Fabric:
    """How a GPU stands in the fabric of its NVSwitches.

    Attributes:
        state: 1 not started, 2 in progress, 3 completed.
        status: The NVML code with which joining ended; it counts once the state is "completed".
        problems: What may be wrong and whether it is, of what the driver tells.
    """

    state: int
    status: int
    problems: Mapping[str, bool]


@dataclass(frozen=True)
class C2cLinks:
    """How many links there are to the CPU of the module, and how many of them are active."""

    links: int
    active: int


@dataclass(frozen=True)
class ConfidentialComputing:
    """Whether it is on, and the bytes of protected memory in use; None where it is off or not told."""

    on: bool
    protected_used: int | None


@dataclass(frozen=True)
class Link:
    """One NVLink; the speed is in megabytes a second, and None where the driver does not say."""

    up: bool
    speed: int | None
    errors: Mapping[str, int]


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
class ProcessUse:
    """How much of the multiprocessors' time one process used in a sample period; `microseconds` is Unix time."""

    pid: int
    percent: int
    microseconds: int


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


@dataclass(frozen=True)
class GpuEvent:
    """Something else that the driver reports; `uuid` is empty where it does not say of which GPU."""

    uuid: str
    what: Happening

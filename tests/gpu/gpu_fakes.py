"""A GPU driver in memory, for tests that need no process and no library."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from exporters.gpu import metrics
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
from exporters.gpu.collection import Collect, Collection, Notices, Sample, Snapshot
from exporters.gpu.collectors import COLLECTORS, Sources
from exporters.gpu.driver import Device
from exporters.gpu.errors import (
    DriverError,
    GpuDeadError,
    LifecycleError,
    PermissionDeniedError,
    TransientError,
    UnknownError,
    UnsupportedError,
)
from exporters.gpu.questions import Activity, ClockDomain, ErrorKind, Fact, Location, ProcessKind, Reading, SampleKind
from exporters.gpu.tally import Tally

UNSUPPORTED = UnsupportedError("nvmlFake", 3, "not_supported")
DENIED = PermissionDeniedError("nvmlFake", 4, "no_permission")
TRANSIENT = TransientError("nvmlFake", 10, "timeout")
LOST = GpuDeadError("nvmlFake", 15, "gpu_is_lost")
UNINITIALIZED = LifecycleError("nvmlFake", 1, "uninitialized")
NOT_LOADED = LifecycleError("nvmlInit", 9, "driver_not_loaded")
UNKNOWN = UnknownError("nvmlFake", 999, "unknown")


def again(error: DriverError) -> DriverError:
    """Return a new exception like this one, so that no traceback grows from raise to raise."""
    return type(error)(error.function, error.code, error.name)


class FakeDevice(Device):
    """Answers from `answers` by the method's name; an error there is raised, and `fault` is raised by all."""

    answered = 0

    def __init__(self, index: int = 0, driver_version: str = "580.126.09") -> None:
        self.uuid = f"GPU-{index}"
        self.driver_version = driver_version
        self.fault: DriverError | None = None
        self.open_gate = threading.Event()
        self.open_gate.set()
        self.answers: dict[str, Any] = {
            "name": "Fake GPU",
            "pci_bus_id": "00000000:0F:00.0",
            "vbios_version": "96.00",
            "utilization": Utilization(40, 20),
            "memory": Memory(total=1000, used=300, free=600, reserved=100),
            "temperature": 50,
            "clock": 1500,
            "max_clock": 1980,
            "power_usage": 300_000,
            "power_limit": 700_000,
            "enforced_power_limit": 650_000,
            "energy": 1_234_567,
            "clocks_event_reasons": 0,
            "supported_clocks_event_reasons": 0x1FF,
            "counters": {74: 1_500_000_000, 75: 0, 76: 0, 269: 0, 270: 0, 271: 0},
        }

    def hang(self) -> None:
        """Let every call block until `resume`."""
        self.open_gate.clear()

    def resume(self) -> None:
        """Let the calls go on."""
        self.open_gate.set()

    def fact(self, fact: Fact) -> str:
        return self._answer(fact, "")

    def reading(self, reading: Reading) -> int:
        return self._answer(reading)

    def samples(self, kind: SampleKind, since: int) -> list[Observed]:
        return [sample for sample in self._answer(kind) if sample.microseconds > since]

    def remapped_rows(self) -> RemappedRows:
        return self._answer("remapped_rows")

    def nvlink(self) -> NvLink:
        return self._answer("nvlink")

    def activity(self) -> dict[Activity, float]:
        return self._answer("activity")

    def mig_activity(self, gpu_instance: int) -> dict[Activity, float]:
        return self._answer("mig_activity")

    def mig_instances(self) -> list[MigInstance]:
        return self._answer("mig_instances")

    def row_banks(self) -> RowBanks:
        return self._answer("row_banks")

    def memory_errors(self, location: Location, kind: ErrorKind) -> int:
        return self._answer(f"{kind} {location}")

    def sram_errors(self) -> SramErrors:
        return self._answer("sram_errors")

    def inforom_valid(self) -> bool:
        return self._answer("inforom_valid")

    def platform(self) -> Platform:
        return self._answer("platform")

    def fabric(self) -> Fabric:
        return self._answer("fabric")

    def c2c(self) -> C2cLinks:
        return self._answer("c2c")

    def confidential_computing(self) -> ConfidentialComputing:
        return self._answer("confidential_computing")

    def links(self) -> list[Link]:
        return self._answer("links")

    def process_use(self, since: int) -> list[ProcessUse]:
        # As a driver may that tells of the newest again.
        return self._answer("process_use")

    def fan_rpms(self) -> list[int]:
        return self._answer("fan_rpms")

    def processes(self, kind: ProcessKind) -> list[Process]:
        return self._answer(f"{kind} processes")

    def fan_speeds(self) -> list[int]:
        return self._answer("fan_speeds")

    def utilization(self) -> Utilization:
        return self._answer("utilization")

    def memory(self) -> Memory:
        return self._answer("memory")

    def temperature(self) -> int:
        return self._answer("temperature")

    def clock(self, domain: ClockDomain) -> int:
        return self._answer("clock")

    def max_clock(self, domain: ClockDomain) -> int:
        return self._answer("max_clock")

    def power_usage(self) -> int:
        return self._answer("power_usage")

    def power_limit(self) -> int:
        return self._answer("power_limit")

    def enforced_power_limit(self) -> int:
        return self._answer("enforced_power_limit")

    def energy(self) -> int:
        return self._answer("energy")

    def clocks_event_reasons(self) -> int:
        return self._answer("clocks_event_reasons")

    def supported_clocks_event_reasons(self) -> int:
        return self._answer("supported_clocks_event_reasons")

    def counters(self, fields: Sequence[int]) -> dict[int, int]:
        known = self._answer("counters")
        return {field: known[field] for field in fields if field in known}

    def _answer(self, method: str, otherwise: Any = UNSUPPORTED) -> Any:
        self.open_gate.wait()
        answer = self.fault or self.answers.get(method, otherwise)
        if isinstance(answer, DriverError):
            raise again(answer)
        self.answered += 1
        return answer


class FakeDriver:
    """Serves these devices; `init_error` is what `open` raises, and an error in place of a device is raised."""

    simulated = False

    def __init__(self, *devices: FakeDevice | DriverError) -> None:
        self.devices = list(devices)
        self.init_error: DriverError | None = None
        self.opened = 0
        self.closed = 0
        self.xids: FakeXidEvents | None = None

    def open(self) -> None:
        if self.init_error:
            raise again(self.init_error)
        self.opened += 1

    def close(self) -> None:
        self.closed += 1

    def versions(self) -> Versions:
        return Versions("580.126.09", "13.0", "13.580.126.09")

    def device_count(self) -> int:
        return len(self.devices)

    def device(self, index: int) -> FakeDevice:
        device = self.devices[index]
        if isinstance(device, DriverError):
            raise again(device)
        return device

    def xid_events(self) -> "FakeXidEvents":
        if self.xids is None:
            raise again(UNSUPPORTED)
        return self.xids


class FakeXidEvents:
    """Hands out what is put into `queue`; an error there is raised."""

    def __init__(self) -> None:
        self.queue: queue.Queue[XidEvent | GpuEvent | DriverError] = queue.Queue()
        self.watched: list[str] = []
        self.closed = 0

    def watch(self, device: Device) -> None:
        self.watched.append(device.uuid)

    def wait(self, seconds: float) -> XidEvent | GpuEvent | None:
        try:
            event = self.queue.get(timeout=min(seconds, 0.05))
        except queue.Empty:
            return None
        if isinstance(event, DriverError):
            raise again(event)
        return event

    def close(self) -> None:
        self.closed += 1


ALL_COLLECTORS: dict[str, Collect] = {name: collector.make(Sources()) for name, collector in COLLECTORS.items()}


def collect(device: FakeDevice, *names: str, tally: Tally | None = None) -> Snapshot:
    """Run these collectors, or all, on the device once."""
    chosen = {name: ALL_COLLECTORS[name] for name in names or ALL_COLLECTORS}
    return Collection(device, Notices("0"), tally or Tally()).run(chosen)


def collect_with(collector: Collect, device: FakeDevice, tally: Tally | None = None) -> Snapshot:
    """Run one collector on the device once."""
    return Collection(device, Notices("0"), tally or Tally()).run({"one": collector})


def values(snapshot: Snapshot) -> dict[Any, float]:
    """Return the values by metric, or by metric and further labels where there are any."""

    def key(sample: Sample) -> Any:
        return (sample.metric, *sample.labels) if sample.labels else sample.metric

    return {key(sample): sample.value for sample in snapshot.samples if sample.metric != metrics.CAPABILITY}


def capabilities(snapshot: Snapshot) -> dict[str, float]:
    """Return which features the GPU has, as the snapshot says."""
    return {sample.labels[0]: sample.value for sample in snapshot.samples if sample.metric == metrics.CAPABILITY}


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for a condition; a machine under load may take its time."""
    tick = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        tick.wait(0.02)
    raise AssertionError(f"did not come true within {seconds:g} s")

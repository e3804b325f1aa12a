"""One GPU, reached through NVML."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pynvml

from exporters.gpu.answers import (
    C2cLinks,
    ConfidentialComputing,
    Fabric,
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
)
from exporters.gpu.driver import Device
from exporters.gpu.nvml import (
    c2c,
    confidential,
    fabric,
    facts,
    fans,
    fields,
    links,
    memory_health,
    mig,
    platform,
    processes,
    readings,
    samples,
)
from exporters.gpu.nvml.calls import Caller, Number64, call, error
from exporters.gpu.nvml.gpm import Gpm
from exporters.gpu.nvml.values import UNSIGNED_64
from exporters.gpu.questions import Activity, ClockDomain, ErrorKind, Fact, Location, ProcessKind, Reading, SampleKind

_CLOCKS: dict[ClockDomain, int] = {
    "graphics": pynvml.NVML_CLOCK_GRAPHICS,
    "sm": pynvml.NVML_CLOCK_SM,
    "memory": pynvml.NVML_CLOCK_MEM,
    "video": pynvml.NVML_CLOCK_VIDEO,
}


class NvmlDevice(Device):
    """One GPU by its handle, which is good until NVML is shut down or the GPU is lost."""

    def __init__(self, handle: Any, uuid: str, driver_version: str, gpm: Gpm | None = None) -> None:
        self.uuid = uuid
        self.driver_version = driver_version
        self._ask = Caller(handle)
        # Drivers before 535 call them throttle reasons.
        self._reasons = Number64(
            self._ask, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
        )
        self._gpm = gpm or Gpm()
        self._instances = mig.Instances(self._ask)
        self._gpm.forget()

    @property
    def handle(self) -> Any:
        """What NVML knows it by."""
        return self._ask.handle

    @property
    def answered(self) -> int:
        """How many calls the library has answered."""
        return self._ask.answered

    def fact(self, fact: Fact) -> str:
        """Return something that never changes."""
        return facts.read(self._ask, fact)

    def reading(self, reading: Reading) -> int:
        """Return one number."""
        return readings.read(self._ask, self.driver_version, reading)

    def utilization(self) -> Utilization:
        """Return how busy it was in the last sample period."""
        rates = self._ask("nvmlDeviceGetUtilizationRates")
        return Utilization(rates.gpu, rates.memory)

    def memory(self) -> Memory:
        """Return how its memory is used, from version 2 of the call where there is one."""
        return self._ask.first(self._memory_v2, self._memory_v1)

    def temperature(self) -> int:
        """Return the temperature of the die in degrees Celsius."""
        return int(
            self._ask.first(
                partial(self._ask, "nvmlDeviceGetTemperatureV", pynvml.NVML_TEMPERATURE_GPU),
                partial(self._ask, "nvmlDeviceGetTemperature", pynvml.NVML_TEMPERATURE_GPU),
            )
        )

    def clock(self, domain: ClockDomain) -> int:
        """Return a clock in MHz."""
        return int(self._ask("nvmlDeviceGetClockInfo", _CLOCKS[domain]))

    def max_clock(self, domain: ClockDomain) -> int:
        """Return the highest clock that it can run at, in MHz."""
        ask = partial(self._ask, "nvmlDeviceGetMaxClockInfo", _CLOCKS[domain])
        return int(self._ask.once(("max clock", domain), ask))

    def power_usage(self) -> int:
        """Return the power drawn in milliwatts."""
        return int(self._ask("nvmlDeviceGetPowerUsage"))

    def power_limit(self) -> int:
        """Return the power limit that is set, in milliwatts."""
        return int(self._ask("nvmlDeviceGetPowerManagementLimit"))

    def enforced_power_limit(self) -> int:
        """Return the power limit that applies, in milliwatts."""
        return int(self._ask("nvmlDeviceGetEnforcedPowerLimit"))

    def energy(self) -> int:
        """Return the energy used since the driver was loaded, in millijoules."""
        return int(self._ask("nvmlDeviceGetTotalEnergyConsumption"))

    def clocks_event_reasons(self) -> int:
        """Return the reasons that hold the clocks down at this instant."""
        return self._reasons.read()

    def supported_clocks_event_reasons(self) -> int:
        """Return the reasons that this GPU can report."""
        ask = partial(
            self._ask.first,
            partial(self._ask, "nvmlDeviceGetSupportedClocksEventReasons"),
            partial(self._ask, "nvmlDeviceGetSupportedClocksThrottleReasons"),
        )
        return int(self._ask.once("supported reasons", ask))

    def counters(self, ids: Sequence[int]) -> dict[int, int]:
        """Return the unsigned 64-bit counters among these field ids."""
        found = fields.read(self._ask, map(fields.Field, ids))
        return {field.id: answer.value for field, answer in found.items() if answer.type == UNSIGNED_64}

    def samples(self, kind: SampleKind, since: int) -> list[Observed]:
        """Return the samples that the driver took after this time (microseconds); there may be none."""
        return samples.read(self._ask, kind, since)

    def remapped_rows(self) -> RemappedRows:
        """Return how its memory was repaired."""
        return RemappedRows(*self._ask("nvmlDeviceGetRemappedRows"))

    def row_banks(self) -> RowBanks:
        """Return how much room there is for further repairs of its memory."""
        return memory_health.row_banks(self._ask)

    def memory_errors(self, location: Location, kind: ErrorKind) -> int:
        """Return the memory errors in one place since the driver was loaded."""
        return memory_health.errors_at(self._ask, location, kind)

    def sram_errors(self) -> SramErrors:
        """Return what went wrong in its caches."""
        return memory_health.sram(self._ask)

    def inforom_valid(self) -> bool:
        """Return whether what the board knows of itself is intact."""
        return memory_health.inforom_valid(self._ask)

    def fabric(self) -> Fabric:
        """Return how it stands in the fabric of its NVSwitches."""
        return fabric.read(self._ask)

    def c2c(self) -> C2cLinks:
        """Return its links to the CPU of its module."""
        return c2c.links(self._ask, readings.branch(self.driver_version))

    def confidential_computing(self) -> ConfidentialComputing:
        """Return whether its memory is closed to the host."""
        return confidential.read(self._ask)

    def links(self) -> list[Link]:
        """Return each NVLink."""
        return links.each(self._ask, readings.branch(self.driver_version))

    def nvlink(self) -> NvLink:
        """Return its NVLinks together."""
        return links.together(self._ask, readings.branch(self.driver_version))

    def activity(self) -> dict[Activity, float]:
        """Return what was active between the call before and this one, by GPM."""
        self._ask.once("GPM", partial(self._ask.guard, "GPM", "nvmlGpmQueryDeviceSupport", self._gpm_support))
        return self._ask.guard("activity", "nvmlGpmSampleGet", partial(self._gpm.active, self.handle, None))

    def mig_activity(self, gpu_instance: int) -> dict[Activity, float]:
        """Return the same for one GPU instance."""
        self._ask.once("GPM", partial(self._ask.guard, "GPM", "nvmlGpmQueryDeviceSupport", self._gpm_support))
        read = partial(self._gpm.active, self.handle, gpu_instance)
        return self._ask.guard("MIG activity", "nvmlGpmMigSampleGet", read)

    def mig_instances(self) -> list[MigInstance]:
        """Return the instances of a GPU that is in MIG mode; none when it is not in it."""
        before = self._instances.names
        found = self._instances.describe()
        if self._instances.names != before:
            self._gpm.forget_instances()
        return found

    def processes(self, kind: ProcessKind) -> list[Process]:
        """Return the processes of this kind, in MIG mode those of every instance."""
        if not self._instances.enabled():
            return processes.running(self._ask, kind)
        return [one for caller in self._instances.callers() for one in processes.running(caller, kind)]

    def process_use(self, since: int) -> list[ProcessUse]:
        """Return what processes used after this time (microseconds)."""
        return processes.use(self._ask, since)

    def fan_speeds(self) -> list[int]:
        """Return how fast each fan should turn, in percent of the highest speed."""
        return fans.speeds(self._ask)

    def fan_rpms(self) -> list[int]:
        """Return how often each fan turns in a minute."""
        return fans.rpms(self._ask)

    def platform(self) -> Platform:
        """Return where it sits in a rack-scale machine."""
        return platform.read(self._ask)

    def _gpm_support(self) -> bool:
        if not call("nvmlGpmQueryDeviceSupport", self.handle).isSupportedDevice:
            raise error("nvmlGpmQueryDeviceSupport", pynvml.NVML_ERROR_NOT_SUPPORTED)
        return True

    def _memory_v2(self) -> Memory:
        info = self._ask("nvmlDeviceGetMemoryInfo", key="memory v2", version=pynvml.nvmlMemory_v2)
        return Memory(info.total, info.used, info.free, info.reserved)

    def _memory_v1(self) -> Memory:
        info = self._ask("nvmlDeviceGetMemoryInfo", key="memory v1")
        return Memory(info.total, info.used, info.free, None)

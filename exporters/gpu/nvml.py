"""The one place that touches pynvml: ctypes, error numbers and functions that were renamed stay behind it."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar

import pynvml

from exporters.gpu.driver import ClockDomain, Memory, Utilization, Versions
from exporters.gpu.errors import (
    DriverError,
    GpuDeadError,
    LifecycleError,
    PermissionDeniedError,
    TransientError,
    UnknownError,
    UnsupportedError,
)

T = TypeVar("T")

_CODE_NAMES = {
    value: name.removeprefix("NVML_ERROR_").lower()
    for name, value in vars(pynvml).items()
    if name[:11] == "NVML_ERROR_"
}
_CLASSES: dict[int, type[DriverError]] = {
    pynvml.NVML_ERROR_UNINITIALIZED: LifecycleError,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: LifecycleError,
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: LifecycleError,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: LifecycleError,
    pynvml.NVML_ERROR_GPU_NOT_FOUND: LifecycleError,
    pynvml.NVML_ERROR_GPU_IS_LOST: GpuDeadError,
    pynvml.NVML_ERROR_RESET_REQUIRED: GpuDeadError,
    pynvml.NVML_ERROR_NOT_SUPPORTED: UnsupportedError,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: UnsupportedError,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: UnsupportedError,
    pynvml.NVML_ERROR_DEPRECATED: UnsupportedError,
    pynvml.NVML_ERROR_NO_PERMISSION: PermissionDeniedError,
    pynvml.NVML_ERROR_UNKNOWN: UnknownError,
}
_CLOCKS: dict[ClockDomain, int] = {
    "graphics": pynvml.NVML_CLOCK_GRAPHICS,
    "sm": pynvml.NVML_CLOCK_SM,
    "memory": pynvml.NVML_CLOCK_MEM,
    "video": pynvml.NVML_CLOCK_VIDEO,
}
_UNSIGNED_64 = pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG


def _error(function: str, code: int) -> DriverError:
    return _CLASSES.get(code, TransientError)(function, code, _CODE_NAMES.get(code, f"code_{code}"))


def _call(function: str, *arguments: Any, **options: Any) -> Any:
    binding = getattr(pynvml, function, None)
    if binding is None:
        # An older nvidia-ml-py lacks the function; to the caller that is no different from an older library.
        raise _error(function, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    try:
        return binding(*arguments, **options)
    except pynvml.NVMLError as error:
        raise _error(function, error.value) from None


class NvmlDevice:
    """One GPU, reached through NVML.

    A call that it does not support is remembered and not made again: on a vGPU each such call writes a line into
    the kernel's log.
    """

    def __init__(self, handle: Any, uuid: str, driver_version: str) -> None:
        self._handle = handle
        self._uuid = uuid
        self._driver_version = driver_version
        self._refused: dict[Hashable, int] = {}

    @property
    def uuid(self) -> str:
        """Its identity."""
        return self._uuid

    @property
    def driver_version(self) -> str:
        """The version of the driver that serves it."""
        return self._driver_version

    def name(self) -> str:
        """Return the product's name."""
        return str(self._ask("nvmlDeviceGetName"))

    def pci_bus_id(self) -> str:
        """Return its address."""
        bus_id = self._ask("nvmlDeviceGetPciInfo").busId
        return bus_id.decode() if isinstance(bus_id, bytes) else str(bus_id)

    def vbios_version(self) -> str:
        """Return the version of its firmware."""
        return str(self._ask("nvmlDeviceGetVbiosVersion"))

    def utilization(self) -> Utilization:
        """Return how busy it was in the last sample period."""
        rates = self._ask("nvmlDeviceGetUtilizationRates")
        return Utilization(rates.gpu, rates.memory)

    def memory(self) -> Memory:
        """Return how its memory is used, from version 2 of the call where there is one."""
        return self._first(self._memory_v2, self._memory_v1)

    def temperature(self) -> int:
        """Return the temperature of the die in degrees Celsius."""
        return int(
            self._first(
                partial(self._ask, "nvmlDeviceGetTemperatureV", pynvml.NVML_TEMPERATURE_GPU),
                partial(self._ask, "nvmlDeviceGetTemperature", pynvml.NVML_TEMPERATURE_GPU),
            )
        )

    def clock(self, domain: ClockDomain) -> int:
        """Return a clock in MHz."""
        return int(self._ask("nvmlDeviceGetClockInfo", _CLOCKS[domain]))

    def max_clock(self, domain: ClockDomain) -> int:
        """Return the highest clock that it can run at, in MHz."""
        return int(self._ask("nvmlDeviceGetMaxClockInfo", _CLOCKS[domain]))

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
        """Return the reasons that hold the clocks down at this instant; drivers before 535 call them throttle."""
        return int(
            self._first(
                partial(self._ask, "nvmlDeviceGetCurrentClocksEventReasons"),
                partial(self._ask, "nvmlDeviceGetCurrentClocksThrottleReasons"),
            )
        )

    def supported_clocks_event_reasons(self) -> int:
        """Return the reasons that this GPU can report."""
        return int(
            self._first(
                partial(self._ask, "nvmlDeviceGetSupportedClocksEventReasons"),
                partial(self._ask, "nvmlDeviceGetSupportedClocksThrottleReasons"),
            )
        )

    def counters(self, fields: Sequence[int]) -> dict[int, int]:
        """Return the unsigned 64-bit counters among these field ids."""
        wanted = [field for field in fields if ("field", field) not in self._refused]
        if not wanted:
            return {}
        found = {}
        for answer in self._ask("nvmlDeviceGetFieldValues", wanted, remember_as="nvmlDeviceGetFieldValues"):
            code = answer.nvmlReturn
            if code == pynvml.NVML_SUCCESS:
                if answer.valueType == _UNSIGNED_64:
                    found[answer.fieldId] = answer.value.ullVal
                continue
            error = _error("nvmlDeviceGetFieldValues", code)
            # A driver that does not know a field id answers either of these.
            if isinstance(error, UnsupportedError) or code == pynvml.NVML_ERROR_INVALID_ARGUMENT:
                self._refused["field", answer.fieldId] = code
            else:
                raise error
        return found

    def _memory_v2(self) -> Memory:
        info = self._ask("nvmlDeviceGetMemoryInfo", remember_as="memory v2", version=pynvml.nvmlMemory_v2)
        return Memory(info.total, info.used, info.free, info.reserved)

    def _memory_v1(self) -> Memory:
        info = self._ask("nvmlDeviceGetMemoryInfo", remember_as="memory v1")
        return Memory(info.total, info.used, info.free, None)

    def _first(self, new: Callable[[], T], old: Callable[[], T]) -> T:
        try:
            return new()
        except UnsupportedError:
            return old()

    def _ask(self, function: str, *arguments: Any, remember_as: Hashable = None, **options: Any) -> Any:
        key = remember_as or (function, *arguments)
        if key in self._refused:
            raise _error(function, self._refused[key])
        try:
            return _call(function, self._handle, *arguments, **options)
        except UnsupportedError as error:
            self._refused[key] = error.code
            raise


class NvmlDriver:
    """Every GPU of this machine, through ``libnvidia-ml.so.1``.

    pynvml keeps the library that it once loaded: after an upgrade on disk only a new process sees the new one.
    """

    simulated = False

    def open(self) -> None:
        """Load the library and initialise it."""
        _call("nvmlInit")

    def close(self) -> None:
        """Shut the library down; every `NvmlDevice` is then invalid."""
        _call("nvmlShutdown")

    def versions(self) -> Versions:
        """Return the versions of the driver and its library."""
        cuda = int(self._or_empty("nvmlSystemGetCudaDriverVersion") or 0)
        return Versions(
            driver=self._driver_version(),
            cuda=f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else "",
            nvml=str(self._or_empty("nvmlSystemGetNVMLVersion")),
        )

    def device_count(self) -> int:
        """Return how many GPUs there are."""
        return int(_call("nvmlDeviceGetCount"))

    def device(self, index: int) -> NvmlDevice:
        """Return the GPU at this index."""
        handle = _call("nvmlDeviceGetHandleByIndex", index)
        return NvmlDevice(handle, str(_call("nvmlDeviceGetUUID", handle)), self._driver_version())

    def _driver_version(self) -> str:
        return str(self._or_empty("nvmlSystemGetDriverVersion"))

    def _or_empty(self, function: str) -> Any:
        try:
            return _call(function)
        except (UnsupportedError, PermissionDeniedError, TransientError):
            return ""

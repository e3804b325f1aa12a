"""XIDs and what else the driver reports, as NVML's events."""

import ctypes
from collections.abc import Mapping
from typing import Any, Protocol

import pynvml

from exporters.gpu.answers import GpuEvent, XidEvent
from exporters.gpu.driver import Device
from exporters.gpu.errors import PermissionDeniedError, TransientError, UnsupportedError
from exporters.gpu.nvml.calls import call, check, symbol
from exporters.gpu.questions import Happening

MILLISECONDS = 1000
WAIT = "nvmlEventSetWait_v2"
XID: int = pynvml.nvmlEventTypeXidCriticalError
# By NVML's bit. Not here: changes of a clock or of the performance state, which come all the time.
HAPPENINGS: Mapping[int, Happening] = {
    0x1: "ecc_single",
    0x2: "ecc_double",
    0x80: "power_source_change",
    0x100: "mig_config_change",
    0x200: "ecc_single_storm",
    0x400: "dram_retirement",
    0x800: "dram_retirement_failure",
    0x1000: "poison_nonfatal",
    0x2000: "poison_fatal",
    0x4000: "gpu_unavailable",
    0x8000: "recovery_action",
}


class _HasHandle(Protocol):
    @property
    def handle(self) -> Any: ...


class NvmlXidEvents:
    """One event set of NVML, with the GPUs that were registered in it."""

    def __init__(self) -> None:
        self._set = call("nvmlEventSetCreate")
        self._uuids: dict[int | None, str] = {}

    def watch(self, device: Device) -> None:
        """Register a GPU, once; an event names it by its handle."""
        handle = _handle(device)
        if _address(handle) not in self._uuids:
            self._register(handle)
            self._uuids[_address(handle)] = device.uuid

    def wait(self, seconds: float) -> XidEvent | GpuEvent | None:
        """Return the next event, or None when none came."""
        # Not through pynvml, where it is an exception that nothing came, which is once a second.
        event = pynvml.c_nvmlEventData_t()
        milliseconds = ctypes.c_uint(int(seconds * MILLISECONDS))
        code = symbol(WAIT)(self._set, ctypes.byref(event), milliseconds)
        if code == pynvml.NVML_ERROR_TIMEOUT:
            return None
        check(WAIT, code)
        uuid = self._uuids.get(_address(event.device), "")
        if event.eventType == XID:
            return XidEvent(uuid, int(event.eventData))
        what = HAPPENINGS.get(event.eventType)
        return GpuEvent(uuid, what) if what else None

    def close(self) -> None:
        """Free the event set."""
        call("nvmlEventSetFree", self._set)

    def _register(self, handle: Any) -> None:
        others = _others(handle)
        if others:
            try:
                call("nvmlDeviceRegisterEvents", handle, XID | others, self._set)
            except (UnsupportedError, PermissionDeniedError, TransientError):
                # The XIDs must not be lost for one of the others.
                pass
            else:
                return
        call("nvmlDeviceRegisterEvents", handle, XID, self._set)


def _others(handle: Any) -> int:
    """Return the bits of what the GPU can report besides XIDs; a bit that it has not would be refused with the rest."""
    try:
        supported = int(call("nvmlDeviceGetSupportedEventTypes", handle))
    except (UnsupportedError, PermissionDeniedError, TransientError):
        return 0
    return sum(bit for bit in HAPPENINGS if supported & bit)


def _handle(device: Any) -> Any:
    """Return what NVML knows a GPU by; every GPU of this driver has it, which the protocol does not show."""
    nvml_device: _HasHandle = device
    return nvml_device.handle


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value

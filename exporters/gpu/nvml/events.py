"""XIDs as NVML's events."""

import ctypes
from typing import Any, Protocol

import pynvml

from exporters.gpu.answers import XidEvent
from exporters.gpu.driver import Device
from exporters.gpu.nvml.calls import call, check, symbol

MILLISECONDS = 1000
WAIT = "nvmlEventSetWait_v2"


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
            call("nvmlDeviceRegisterEvents", handle, pynvml.nvmlEventTypeXidCriticalError, self._set)
            self._uuids[_address(handle)] = device.uuid

    def wait(self, seconds: float) -> XidEvent | None:
        """Return the next XID, or None when none came."""
        # Not through pynvml, where it is an exception that nothing came, which is once a second.
        event = pynvml.c_nvmlEventData_t()
        milliseconds = ctypes.c_uint(int(seconds * MILLISECONDS))
        code = symbol(WAIT)(self._set, ctypes.byref(event), milliseconds)
        if code == pynvml.NVML_ERROR_TIMEOUT:
            return None
        check(WAIT, code)
        if event.eventType != pynvml.nvmlEventTypeXidCriticalError:
            return None
        return XidEvent(self._uuids.get(_address(event.device), ""), int(event.eventData))

    def close(self) -> None:
        """Free the event set."""
        call("nvmlEventSetFree", self._set)


def _handle(device: Any) -> Any:
    """Return what NVML knows a GPU by; every GPU of this driver has it, which the protocol does not show."""
    nvml_device: _HasHandle = device
    return nvml_device.handle


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value

"""The processes that use a GPU. The struct of the call changed its size in branch 535 and changed back."""

import ctypes
from typing import Any

import pynvml

from exporters.gpu.answers import Process, ProcessUse
from exporters.gpu.errors import DriverError, TransientError
from exporters.gpu.nvml.calls import Caller, check, symbol
from exporters.gpu.questions import ProcessKind

FUNCTIONS: dict[ProcessKind, str] = {
    "compute": "nvmlDeviceGetComputeRunningProcesses",
    "graphics": "nvmlDeviceGetGraphicsRunningProcesses",
    "mps": "nvmlDeviceGetMPSComputeRunningProcesses",
}
USE = "nvmlDeviceGetProcessUtilization"
NO_INSTANCE = 0xFFFFFFFF
NOT_AVAILABLE = 2**64 - 1
# Room for more processes than there were, which is enough at the first try on most GPUs.
SPARE = 16
TRIES = 3

_COMMON = (
    ("pid", ctypes.c_uint),
    ("used", ctypes.c_ulonglong),
    ("gpu_instance", ctypes.c_uint),
    ("compute_instance", ctypes.c_uint),
)


class Entry(ctypes.Structure):
    """nvmlProcessInfo_v2_t, and the third version as it is today."""

    _fields_ = _COMMON


class LongEntry(ctypes.Structure):
    """The third version as the first drivers of branch 535 had it."""

    _fields_ = (*_COMMON, ("protected", ctypes.c_ulonglong))


def running(caller: Caller, kind: ProcessKind) -> list[Process]:
    """Return the processes of this kind."""
    name = FUNCTIONS[kind]
    return caller.first(
        lambda: caller.guard((name, 3), name, lambda: _list(caller.handle, f"{name}_v3", _third_version())),
        lambda: caller.guard((name, 2), name, lambda: _list(caller.handle, f"{name}_v2", Entry)),
    )


def use(caller: Caller, since: int) -> list[ProcessUse]:
    """Return what processes used after this time (microseconds)."""
    try:
        samples = caller(USE, since, key=USE)
    except TransientError as failure:
        # pynvml raises also when the driver answers that there is nothing.
        if failure.code in (pynvml.NVML_SUCCESS, pynvml.NVML_ERROR_NOT_FOUND):
            return []
        raise
    return [ProcessUse(int(one.pid), int(one.smUtil), int(one.timeStamp)) for one in samples]


def _third_version() -> type[Entry | LongEntry]:
    # The long entry came with the first of these functions and went when the second took its place.
    return LongEntry if _has("nvmlDeviceGetConfComputeMemSizeInfo") and not _has_details() else Entry


def _has_details() -> bool:
    return _has("nvmlDeviceGetRunningProcessDetailList")


def _has(function: str) -> bool:
    try:
        symbol(function)
    except DriverError:
        return False
    return True


def _list(handle: Any, function: str, entry: type[Entry | LongEntry]) -> list[Process]:
    ask = symbol(function)
    count = ctypes.c_uint(0)
    for _ in range(TRIES):
        count.value += SPARE
        room = (entry * count.value)()
        code = ask(handle, ctypes.byref(count), room)
        if code != pynvml.NVML_ERROR_INSUFFICIENT_SIZE:
            break
    check(function, code)
    return [_process(one) for one in list(room)[: count.value]]


def _process(one: Any) -> Process:
    used = None if one.used == NOT_AVAILABLE else int(one.used)
    return Process(int(one.pid), used, None if one.gpu_instance == NO_INSTANCE else int(one.gpu_instance))

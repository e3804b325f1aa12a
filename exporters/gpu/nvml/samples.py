"""The samples that the driver takes itself, several a second, into a ring buffer."""

import ctypes
from functools import partial
from typing import Any

import pynvml

from exporters.gpu.answers import Observed
from exporters.gpu.nvml.calls import Caller, check, error, symbol
from exporters.gpu.nvml.values import MEMBERS, Value
from exporters.gpu.questions import SampleKind

FUNCTION = "nvmlDeviceGetSamples"
KINDS: dict[SampleKind, int] = {
    "utilization_percent": pynvml.NVML_GPU_UTILIZATION_SAMPLES,
    "power_milliwatts": pynvml.NVML_TOTAL_POWER_SAMPLES,
}


class Sample(ctypes.Structure):
    """nvmlSample_t."""

    _fields_ = (("microseconds", ctypes.c_ulonglong), ("value", Value))


def read(caller: Caller, kind: SampleKind, since: int) -> list[Observed]:
    """Return the samples that the driver took after this time (microseconds); there may be none."""
    return caller.guard((FUNCTION, kind), FUNCTION, partial(_read, caller.handle, KINDS[kind], since))


def _read(handle: Any, kind: int, since: int) -> list[Observed]:
    type_of_value, count, after = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_ulonglong(since)
    ask = partial(symbol(FUNCTION), handle, kind, after, ctypes.byref(type_of_value), ctypes.byref(count))
    # Without room for them the driver says how many there may be.
    code = ask(None)
    if code == pynvml.NVML_SUCCESS:
        room = (Sample * count.value)()
        code = ask(room)
    if code == pynvml.NVML_ERROR_NOT_FOUND:
        return []
    check(FUNCTION, code)
    member = MEMBERS.get(type_of_value.value)
    if member is None:
        raise error(FUNCTION, pynvml.NVML_ERROR_NOT_SUPPORTED)
    return [Observed(one.microseconds, getattr(one.value, member)) for one in room[: count.value]]

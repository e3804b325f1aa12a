"""GPM (GPU performance monitoring, Hopper and newer): what was active between two samples of the driver's counters.

It needs no special right and does not take the lock of the profilers. Samples lie at least 100 ms apart (nvml.h).
"""

import ctypes
import time
from typing import Any, NamedTuple

import pynvml

from exporters.gpu.errors import DriverError
from exporters.gpu.nvml.calls import call, check, error, symbol
from exporters.gpu.questions import Activity

METRICS: dict[Activity, int] = {
    "graphics": 1,
    "sm": 2,
    "sm_occupancy": 3,
    "int": 4,
    "tensor": 5,
    "dfma": 6,
    "hmma": 7,
    "imma": 9,
    "dram": 10,
    "fp64": 11,
    "fp32": 12,
    "fp16": 13,
    "pcie_transmit": 20,
    "pcie_receive": 21,
}
SHORTEST_SECONDS = 0.1


class _Metric(ctypes.Structure):
    _fields_ = (
        ("id", ctypes.c_uint),
        ("result", ctypes.c_uint),
        ("value", ctypes.c_double),
        ("names", ctypes.c_char_p * 3),
    )


class _Request(ctypes.Structure):
    # nvml.h declares room for more metrics in each release; the driver touches only as many as are asked for.
    _fields_ = (
        ("version", ctypes.c_uint),
        ("count", ctypes.c_uint),
        ("earlier", ctypes.c_void_p),
        ("later", ctypes.c_void_p),
        ("metrics", _Metric * len(METRICS)),
    )


class _Taken(NamedTuple):
    sample: Any
    at: float
    found: dict[Activity, float]


class Gpm:
    """The last sample of one GPU and of each of its GPU instances, which belong to the library until `free`."""

    def __init__(self) -> None:
        self._last: dict[int | None, _Taken] = {}
        self._spare: list[Any] = []

    def active(self, handle: Any, gpu_instance: int | None) -> dict[Activity, float]:
        """Return what was active since the call before for this GPU or this instance; nothing at the first call.

        A call that comes too soon is answered with what the call before was.
        """
        last = self._last.get(gpu_instance)
        if last is not None and time.monotonic() - last.at < SHORTEST_SECONDS:
            return last.found
        later = self._spare.pop() if self._spare else call("nvmlGpmSampleAlloc")
        try:
            if gpu_instance is None:
                call("nvmlGpmSampleGet", handle, later)
            else:
                call("nvmlGpmMigSampleGet", handle, gpu_instance, later)
        except DriverError:
            self._spare.append(later)
            raise
        self._last[gpu_instance] = _Taken(later, time.monotonic(), {})
        if last is None:
            return {}
        self._spare.append(last.sample)
        found = _between(last.sample, later)
        self._last[gpu_instance] = _Taken(later, time.monotonic(), found)
        return found

    def forget(self) -> None:
        """Begin anew: the GPU is no longer the one of the last samples."""
        self.forget_instances()
        self._drop({None})

    def forget_instances(self) -> None:
        """Begin anew with the instances, whose ids are used again for others."""
        self._drop(set(self._last) - {None})

    def _drop(self, keys: set[int | None]) -> None:
        for key in keys & set(self._last):
            self._spare.append(self._last.pop(key).sample)

    def free(self) -> None:
        """Give the samples back to the library."""
        self.forget()
        while self._spare:
            call("nvmlGpmSampleFree", self._spare.pop())


def _between(earlier: Any, later: Any) -> dict[Activity, float]:
    request = _Request(version=1, count=len(METRICS))
    request.earlier, request.later = (ctypes.cast(sample, ctypes.c_void_p) for sample in (earlier, later))
    for slot, number in zip(request.metrics, METRICS.values(), strict=True):
        slot.id = number
    check("nvmlGpmMetricsGet", symbol("nvmlGpmMetricsGet")(ctypes.byref(request)))
    found: dict[Activity, float] = {}
    for name, slot in zip(METRICS, request.metrics, strict=True):
        if slot.result == pynvml.NVML_SUCCESS:
            found[name] = slot.value
    if not found:
        raise error("nvmlGpmMetricsGet", request.metrics[0].result)
    return found

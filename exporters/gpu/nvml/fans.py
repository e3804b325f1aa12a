"""The fans of one GPU."""

import ctypes
from functools import partial

import pynvml

from exporters.gpu.nvml.calls import Caller, check, error, symbol

RPM = "nvmlDeviceGetFanSpeedRPM"


def speeds(caller: Caller) -> list[int]:
    """Return how fast each fan should turn, in percent of the highest speed."""
    return [int(caller("nvmlDeviceGetFanSpeed_v2", fan)) for fan in range(_count(caller))]


def rpms(caller: Caller) -> list[int]:
    """Return how often each fan turns in a minute."""
    return [caller.guard(RPM, RPM, partial(_rpm, caller, fan)) for fan in range(_count(caller))]


def _count(caller: Caller) -> int:
    count = int(caller.once("fans", partial(caller, "nvmlDeviceGetNumFans")))
    if not count:
        raise error("nvmlDeviceGetNumFans", pynvml.NVML_ERROR_NOT_SUPPORTED)
    return count


def _rpm(caller: Caller, fan: int) -> int:
    # Not through pynvml, which asks for the first fan only.
    info = pynvml.c_nvmlFanSpeedInfo_t(version=pynvml.nvmlFanSpeedInfo_v1, fan=fan)
    check(RPM, symbol(RPM)(caller.handle, ctypes.byref(info)))
    return int(info.speed)

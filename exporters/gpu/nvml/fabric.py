"""Whether a GPU has joined the fabric of its NVSwitches, without which it cannot reach the other GPUs."""

import ctypes

import pynvml

from exporters.gpu.answers import Fabric
from exporters.gpu.nvml.calls import Caller, call, error

FUNCTION = "nvmlDeviceGetGpuFabricInfoV"
# Where each pair of bits lies in the mask of health, of which 0 is "not supported", 1 is yes and 2 is no.
PROBLEMS = {"degraded_bandwidth": 0, "route_recovery": 2, "route_unhealthy": 4, "access_timeout_recovery": 6}
YES, NO = 1, 2
# Four bits, of which 1 is "none" and each higher number another mistake.
CONFIGURATION, RIGHT = 8, 1


class _Info(ctypes.Structure):
    """nvmlGpuFabricInfo_v2_t; pynvml takes the state for a number of 32 bits, of which the driver writes eight."""

    _fields_ = (
        ("version", ctypes.c_uint),
        ("cluster", ctypes.c_ubyte * 16),
        ("status", ctypes.c_uint),
        ("clique", ctypes.c_uint),
        ("state", ctypes.c_ubyte),
        ("health", ctypes.c_uint),
    )


VERSION_2 = ctypes.sizeof(_Info) | 2 << 24


def read(caller: Caller) -> Fabric:
    """Return how the GPU stands in the fabric.

    Raises:
        UnsupportedError: When there is no fabric.
    """
    info = _Info(version=VERSION_2)
    caller.guard(FUNCTION, FUNCTION, lambda: call(FUNCTION, caller.handle, ctypes.byref(info)))
    if not info.state:
        raise error(FUNCTION, pynvml.NVML_ERROR_NOT_SUPPORTED)
    return Fabric(int(info.state), int(info.status), problems(info.health))


def problems(health: int) -> dict[str, bool]:
    """Return which problems there are, of those that the driver tells of."""
    told = {name: health >> place & 3 for name, place in PROBLEMS.items()}
    found = {name: answer == YES for name, answer in told.items() if answer in (YES, NO)}
    configuration = health >> CONFIGURATION & 15
    return found | ({"incorrect_configuration": configuration > RIGHT} if configuration else {})

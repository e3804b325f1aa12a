"""Where a GPU sits in a rack-scale machine, such as GB200 NVL72."""

import ctypes

from exporters.gpu.answers import Platform
from exporters.gpu.nvml.calls import Caller, call

FUNCTION = "nvmlDeviceGetPlatformInfo"


class _Info(ctypes.Structure):
    """nvmlPlatformInfo_v2_t; in the first version a number of 16 bytes stands where the serial number is now."""

    _fields_ = (
        ("version", ctypes.c_uint),
        ("infiniband", ctypes.c_ubyte * 16),
        ("chassis", ctypes.c_char * 16),
        ("slot", ctypes.c_ubyte),
        ("tray", ctypes.c_ubyte),
        ("host", ctypes.c_ubyte),
        ("peer_type", ctypes.c_ubyte),
        ("module", ctypes.c_ubyte),
    )


VERSION_1, VERSION_2 = (ctypes.sizeof(_Info) | number << 24 for number in (1, 2))


def read(caller: Caller) -> Platform:
    """Return where the GPU sits, which never changes."""

    def ask(version: int) -> Platform:
        return caller.guard((FUNCTION, version), FUNCTION, lambda: _ask(caller, version))

    return caller.once(FUNCTION, lambda: caller.first(lambda: ask(VERSION_2), lambda: ask(VERSION_1)))


def _ask(caller: Caller, version: int) -> Platform:
    info = _Info(version=version)
    call(FUNCTION, caller.handle, ctypes.byref(info))
    serial = info.chassis.decode("ascii", "replace").strip() if version == VERSION_2 else ""
    return Platform(serial, str(info.slot), str(info.tray), str(info.host), str(info.module))

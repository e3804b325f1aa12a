"""The instances of a GPU in MIG mode. They are listed anew each time: a person may make others at any moment."""

from typing import Any

import pynvml

from exporters.gpu.driver import Memory, MigInstance
from exporters.gpu.errors import PermissionDeniedError, TransientError, UnsupportedError
from exporters.gpu.nvml.calls import Caller, call


def enabled(caller: Caller) -> bool:
    """Return whether this GPU is in MIG mode; one that cannot be is not."""
    try:
        return bool(caller("nvmlDeviceGetMigMode")[0])
    except UnsupportedError:
        return False


def handles(caller: Caller) -> list[Any]:
    """Return the handle of each compute instance."""
    found = []
    for slot in range(int(caller("nvmlDeviceGetMaxMigDeviceCount"))):
        try:
            found.append(call("nvmlDeviceGetMigDeviceHandleByIndex", caller.handle, slot))
        except TransientError as failure:
            # An empty slot is no error.
            if failure.code not in (pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_ERROR_INVALID_ARGUMENT):
                raise
    return found


def instances(caller: Caller) -> list[MigInstance]:
    """Return the compute instances of this GPU."""
    return [_instance(handle) for handle in handles(caller)]


def _instance(handle: Any) -> MigInstance:
    return MigInstance(
        uuid=str(call("nvmlDeviceGetUUID", handle)),
        gpu_instance=int(call("nvmlDeviceGetGpuInstanceId", handle)),
        compute_instance=int(call("nvmlDeviceGetComputeInstanceId", handle)),
        profile=_profile(handle),
        memory=_memory(handle),
    )


def _profile(handle: Any) -> str:
    # The name ends with it, such as "NVIDIA H200 MIG 3g.71gb".
    try:
        _, found, profile = str(call("nvmlDeviceGetName", handle)).rpartition(" MIG ")
    except (UnsupportedError, PermissionDeniedError, TransientError):
        return ""
    return profile if found else ""


def _memory(handle: Any) -> Memory | None:
    try:
        info = call("nvmlDeviceGetMemoryInfo", handle, version=pynvml.nvmlMemory_v2)
    except (UnsupportedError, PermissionDeniedError):
        return None
    return Memory(info.total, info.used, info.free, info.reserved)

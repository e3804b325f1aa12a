"""The instances of a GPU in MIG mode. They are listed anew each time: a person may make others at any moment."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pynvml

from exporters.gpu.answers import Memory, MigInstance
from exporters.gpu.errors import PermissionDeniedError, TransientError, UnsupportedError
from exporters.gpu.nvml.calls import Caller, address, call

# A list is good for the rest of the collection that it was made in.
GOOD_SECONDS = 0.5


class Instances:
    """The compute instances of one GPU.

    Args:
        caller: The GPU's.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._callers: dict[str, Caller] = {}
        self._listed = 0.0

    @property
    def names(self) -> frozenset[str]:
        """The uuids of the instances that were listed last."""
        return frozenset(self._callers)

    def enabled(self) -> bool:
        """Return whether the GPU is in MIG mode; one that cannot be is not."""
        try:
            return bool(self._caller("nvmlDeviceGetMigMode")[0])
        except UnsupportedError:
            return False

    def callers(self) -> list[Caller]:
        """Return a caller for each instance; it remembers what that instance refuses and what never changes."""
        if not self._callers or time.monotonic() - self._listed > GOOD_SECONDS:
            fresh = {str(call("nvmlDeviceGetUUID", handle)): handle for handle in self._handles()}
            self._callers = {uuid: self._known(uuid, handle) or Caller(handle) for uuid, handle in fresh.items()}
            self._listed = time.monotonic()
        return list(self._callers.values())

    def describe(self) -> list[MigInstance]:
        """Return the instances; none when the GPU is not in MIG mode."""
        if not self.enabled():
            self._callers = {}
            return []
        self.callers()
        return [_instance(uuid, caller) for uuid, caller in self._callers.items()]

    def _known(self, uuid: str, handle: Any) -> Caller | None:
        known = self._callers.get(uuid)
        return known if known and address(known.handle) == address(handle) else None

    def _handles(self) -> Iterator[Any]:
        for slot in range(int(self._caller("nvmlDeviceGetMaxMigDeviceCount"))):
            try:
                yield call("nvmlDeviceGetMigDeviceHandleByIndex", self._caller.handle, slot)
            except TransientError as failure:
                # An empty slot is no error.
                if failure.code not in (pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_ERROR_INVALID_ARGUMENT):
                    raise


def _instance(uuid: str, caller: Caller) -> MigInstance:
    return MigInstance(
        uuid=uuid,
        gpu_instance=int(caller.once("gpu instance", partial(caller, "nvmlDeviceGetGpuInstanceId"))),
        compute_instance=int(caller.once("compute instance", partial(caller, "nvmlDeviceGetComputeInstanceId"))),
        profile=_profile(caller),
        memory=_memory(caller),
    )


def _profile(caller: Caller) -> str:
    # The name ends with it, such as "NVIDIA H200 MIG 3g.71gb".
    try:
        name = str(caller.once("name", partial(caller, "nvmlDeviceGetName")))
    except (UnsupportedError, PermissionDeniedError, TransientError):
        return ""
    _, found, profile = name.rpartition(" MIG ")
    return profile if found else ""


def _memory(caller: Caller) -> Memory | None:
    try:
        info = caller("nvmlDeviceGetMemoryInfo", version=pynvml.nvmlMemory_v2)
    except (UnsupportedError, PermissionDeniedError):
        return None
    return Memory(info.total, info.used, info.free, info.reserved)

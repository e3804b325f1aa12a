"""Confidential computing, in which the GPU's memory is closed to the host."""

from exporters.gpu.answers import ConfidentialComputing
from exporters.gpu.errors import UnsupportedError
from exporters.gpu.nvml.calls import Caller, call

# Of the whole machine, and not of one GPU.
STATE = "nvmlSystemGetConfComputeState"
MEMORY = "nvmlDeviceGetConfComputeProtectedMemoryUsage"


def read(caller: Caller) -> ConfidentialComputing:
    """Return whether it is on, and how much protected memory of the GPU is in use."""
    state = caller.guard(STATE, STATE, lambda: call(STATE))
    return ConfidentialComputing(bool(state.ccFeature), _used(caller) if state.ccFeature else None)


def _used(caller: Caller) -> int | None:
    try:
        return int(caller(MEMORY).used)
    except UnsupportedError:
        return None

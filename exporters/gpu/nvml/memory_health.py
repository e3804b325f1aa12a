"""What went wrong in the memory of a GPU, and how much of it can still be repaired."""

import ctypes
from functools import partial

import pynvml

from exporters.gpu.answers import RowBanks, SramErrors
from exporters.gpu.errors import TransientError, UnsupportedError
from exporters.gpu.nvml.calls import Caller, call, error
from exporters.gpu.questions import ErrorKind, Location

_KINDS: dict[ErrorKind, int] = {
    "corrected": pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED,
    "uncorrected": pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
}
_LOCATIONS: dict[Location, int] = {
    "l1_cache": pynvml.NVML_MEMORY_LOCATION_L1_CACHE,
    "l2_cache": pynvml.NVML_MEMORY_LOCATION_L2_CACHE,
    "dram": pynvml.NVML_MEMORY_LOCATION_DRAM,
    "register_file": pynvml.NVML_MEMORY_LOCATION_REGISTER_FILE,
    "texture_memory": pynvml.NVML_MEMORY_LOCATION_TEXTURE_MEMORY,
    "texture_shared_memory": pynvml.NVML_MEMORY_LOCATION_TEXTURE_SHM,
    "cbu": pynvml.NVML_MEMORY_LOCATION_CBU,
    "sram": pynvml.NVML_MEMORY_LOCATION_SRAM,
}
_SRAM = "nvmlDeviceGetSramEccErrorStatus"
_BANKS = "nvmlDeviceGetRowRemapperHistogram"
_INFOROM = "nvmlDeviceValidateInforom"


def errors_at(caller: Caller, location: Location, kind: ErrorKind) -> int:
    """Return the errors in one place since the driver was loaded."""
    what = (_KINDS[kind], pynvml.NVML_VOLATILE_ECC, _LOCATIONS[location])
    try:
        return int(caller("nvmlDeviceGetMemoryErrorCounter", *what))
    except TransientError as failure:
        # Some drivers say so of a place that the GPU has not.
        if failure.code != pynvml.NVML_ERROR_INVALID_ARGUMENT:
            raise
        caller.refuse(("nvmlDeviceGetMemoryErrorCounter", *what), pynvml.NVML_ERROR_NOT_SUPPORTED)
        raise error(failure.function, pynvml.NVML_ERROR_NOT_SUPPORTED) from None


def sram(caller: Caller) -> SramErrors:
    """Return what went wrong in the caches."""
    status = pynvml.c_nvmlEccSramErrorStatus_v1_t()
    caller.guard(_SRAM, _SRAM, lambda: call(_SRAM, caller.handle, ctypes.byref(status)))
    return SramErrors(
        threshold_exceeded=bool(status.bThresholdExceeded),
        uncorrected={
            "l2": status.aggregateUncBucketL2,
            "sm": status.aggregateUncBucketSm,
            "pcie": status.aggregateUncBucketPcie,
            "mcu": status.aggregateUncBucketMcu,
            "other": status.aggregateUncBucketOther,
        },
    )


def row_banks(caller: Caller) -> RowBanks:
    """Return how many banks have how many spare rows left."""
    if caller.once("vGPU", partial(_is_vgpu, caller)):
        # On a vGPU this call writes into the kernel's log (utkuozdemir/nvidia_gpu_exporter#384).
        raise error(_BANKS, pynvml.NVML_ERROR_NOT_SUPPORTED)
    found = caller(_BANKS)
    return RowBanks(found.max, found.high, found.partial, found.low, found.none)


def inforom_valid(caller: Caller) -> bool:
    """Return whether the InfoROM is intact; it lies in slow flash memory and is read once."""
    return caller.once(_INFOROM, partial(_validate, caller))


def _validate(caller: Caller) -> bool:
    try:
        caller(_INFOROM)
    except TransientError as failure:
        if failure.code == pynvml.NVML_ERROR_CORRUPTED_INFOROM:
            return False
        # Nor is a look that failed repeated.
        caller.refuse((_INFOROM,), failure.code)
        raise
    return True


def _is_vgpu(caller: Caller) -> bool:
    try:
        return bool(caller("nvmlDeviceGetVirtualizationMode") == pynvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU)
    except UnsupportedError:
        return False

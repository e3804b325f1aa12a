"""Where each `Reading` comes from: an NVML function or a field value.

A field id has a meaning only from some driver branch on; before that it may have meant something else. Branches by
the nvidia-ml-py release that first has the id with this meaning.
"""

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pynvml

from exporters.gpu.errors import UnsupportedError
from exporters.gpu.nvml.calls import Caller
from exporters.gpu.nvml.fields import Field, read_one
from exporters.gpu.questions import Reading


@dataclass(frozen=True)
class Ask:
    """A function of NVML.

    Attributes:
        function: Its name in pynvml.
        arguments: What follows the handle.
        part: Which part of its answer, by attribute or position; None takes it whole.
        fixed: Whether it never changes, so that it is asked for once.
        places: For how many numbers it is given room; pynvml's own room for these is shared by all threads.
    """

    function: str
    arguments: tuple[Any, ...] = ()
    part: str | int | None = None
    fixed: bool = False
    places: int = 0


@dataclass(frozen=True)
class FieldOf:
    """A field value, of drivers from this branch on.

    Attributes:
        field: Its id.
        branch: The first branch in which the id has this meaning.
        fixed: Whether it never changes, so that it is asked for once.
    """

    field: Field
    branch: int
    fixed: bool = False


_CORRECTED, _UNCORRECTED = pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED
_VOLATILE, _AGGREGATE = pynvml.NVML_VOLATILE_ECC, pynvml.NVML_AGGREGATE_ECC
_MODULE, _MEMORY = 1, 2


def _threshold(number: int) -> Ask:
    return Ask("nvmlDeviceGetTemperatureThreshold", (number,), fixed=True)


def _ecc(kind: int, counter: int) -> Ask:
    return Ask("nvmlDeviceGetTotalEccErrors", (kind, counter))


SOURCES: Mapping[Reading, Ask | FieldOf] = {
    "persistence_mode": Ask("nvmlDeviceGetPersistenceMode"),
    "ecc_mode": Ask("nvmlDeviceGetEccMode", part=0),
    "ecc_mode_pending": Ask("nvmlDeviceGetEccMode", part=1),
    "mig_mode": Ask("nvmlDeviceGetMigMode", part=0),
    "mig_mode_pending": Ask("nvmlDeviceGetMigMode", part=1),
    "accounting_mode": Ask("nvmlDeviceGetAccountingMode"),
    "gsp_mode": Ask("nvmlDeviceGetGspFirmwareMode", part=0, places=2),
    "compute_mode": Ask("nvmlDeviceGetComputeMode"),
    "performance_state": Ask("nvmlDeviceGetPerformanceState"),
    "encoder_percent": Ask("nvmlDeviceGetEncoderUtilization", part=0),
    "decoder_percent": Ask("nvmlDeviceGetDecoderUtilization", part=0),
    "jpeg_percent": Ask("nvmlDeviceGetJpgUtilization", part=0),
    "ofa_percent": Ask("nvmlDeviceGetOfaUtilization", part=0),
    "bar1_total_bytes": Ask("nvmlDeviceGetBAR1MemoryInfo", part="bar1Total"),
    "bar1_used_bytes": Ask("nvmlDeviceGetBAR1MemoryInfo", part="bar1Used"),
    "memory_celsius": FieldOf(Field(82), 410),
    "margin_celsius": Ask("nvmlDeviceGetMarginTemperature"),
    "shutdown_celsius": _threshold(pynvml.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN),
    "slowdown_celsius": _threshold(pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN),
    "memory_max_celsius": _threshold(pynvml.NVML_TEMPERATURE_THRESHOLD_MEM_MAX),
    "gpu_max_celsius": _threshold(pynvml.NVML_TEMPERATURE_THRESHOLD_GPU_MAX),
    "shutdown_tlimit_celsius": FieldOf(Field(193), 550, fixed=True),
    "slowdown_tlimit_celsius": FieldOf(Field(194), 550, fixed=True),
    "memory_max_tlimit_celsius": FieldOf(Field(195), 550, fixed=True),
    "gpu_max_tlimit_celsius": FieldOf(Field(196), 550, fixed=True),
    "instant_milliwatts": FieldOf(Field(186), 535),
    "module_milliwatts": FieldOf(Field(186, _MODULE), 550),
    "memory_milliwatts": FieldOf(Field(186, _MEMORY), 550),
    "default_limit_milliwatts": Ask("nvmlDeviceGetPowerManagementDefaultLimit", fixed=True),
    "lowest_limit_milliwatts": Ask("nvmlDeviceGetPowerManagementLimitConstraints", part=0, fixed=True),
    "highest_limit_milliwatts": Ask("nvmlDeviceGetPowerManagementLimitConstraints", part=1, fixed=True),
    "customer_boost_megahertz": Ask("nvmlDeviceGetMaxCustomerBoostClock", (pynvml.NVML_CLOCK_GRAPHICS,), fixed=True),
    "ecc_corrected": _ecc(_CORRECTED, _VOLATILE),
    "ecc_uncorrected": _ecc(_UNCORRECTED, _VOLATILE),
    "ecc_corrected_ever": _ecc(_CORRECTED, _AGGREGATE),
    "ecc_uncorrected_ever": _ecc(_UNCORRECTED, _AGGREGATE),
    "retired_single_bit": FieldOf(Field(29), 0),
    "retired_double_bit": FieldOf(Field(30), 0),
    "retirement_pending": FieldOf(Field(31), 0),
    "channel_repair_pending": Ask("nvmlDeviceGetRepairStatus", part=0),
    "tpc_repair_pending": Ask("nvmlDeviceGetRepairStatus", part=1),
    "unrepairable_memory": Ask("nvmlDeviceGetUnrepairableMemoryFlag_v1"),
    "recovery_action": FieldOf(Field(230), 570),
    "pcie_generation": Ask("nvmlDeviceGetCurrPcieLinkGeneration"),
    "pcie_generation_max": Ask("nvmlDeviceGetMaxPcieLinkGeneration", fixed=True),
    "pcie_width": Ask("nvmlDeviceGetCurrPcieLinkWidth"),
    "pcie_width_max": Ask("nvmlDeviceGetMaxPcieLinkWidth", fixed=True),
    "pcie_replays": Ask("nvmlDeviceGetPcieReplayCounter"),
    "pcie_recoveries": FieldOf(Field(169), 535),
    "pcie_transmitted_bytes": FieldOf(Field(197), 560),
    "pcie_received_bytes": FieldOf(Field(198), 560),
    "pcie_transmitting_kilobytes_per_second": Ask("nvmlDeviceGetPcieThroughput", (pynvml.NVML_PCIE_UTIL_TX_BYTES,)),
    "pcie_receiving_kilobytes_per_second": Ask("nvmlDeviceGetPcieThroughput", (pynvml.NVML_PCIE_UTIL_RX_BYTES,)),
    "pcie_correctable_errors": FieldOf(Field(173), 535),
    "pcie_naks_received": FieldOf(Field(174), 535),
    "pcie_receiver_errors": FieldOf(Field(175), 535),
    "pcie_bad_tlp": FieldOf(Field(176), 535),
    "pcie_naks_sent": FieldOf(Field(177), 535),
    "pcie_bad_dllp": FieldOf(Field(178), 535),
    "pcie_nonfatal_errors": FieldOf(Field(179), 535),
    "pcie_fatal_errors": FieldOf(Field(180), 535),
    "pcie_unsupported_requests": FieldOf(Field(181), 535),
    "pcie_lcrc_errors": FieldOf(Field(182), 535),
}


def read(caller: Caller, driver_version: str, reading: Reading) -> int:
    """Return one number.

    Raises:
        DriverError: When this GPU or this driver has it not, or the call failed.
    """
    source = SOURCES[reading]
    if isinstance(source, FieldOf):
        if branch(driver_version) < source.branch:
            raise UnsupportedError(f"field {source.field.id}", pynvml.NVML_ERROR_NOT_SUPPORTED, "not_supported")
        ask = partial(read_one, caller, source.field)
        return caller.once(source.field, ask) if source.fixed else ask()
    return _part(source, _answer(caller, source))


def _answer(caller: Caller, ask: Ask) -> Any:
    key = (ask.function, *ask.arguments)
    room = [ctypes.c_uint() for _ in range(ask.places)]
    call = partial(caller, ask.function, *ask.arguments, *room, key=key)
    return caller.once(key, call) if ask.fixed else call()


def _part(ask: Ask, answer: Any) -> int:
    if isinstance(ask.part, str):
        return int(getattr(answer, ask.part))
    return int(answer if ask.part is None else answer[ask.part])


def branch(driver_version: str) -> int:
    """Return the driver's branch, such as 580; 0 where the version does not say."""
    parsed = re.match(r"\d+", driver_version)
    return int(parsed[0]) if parsed else 0

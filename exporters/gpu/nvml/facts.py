"""What a GPU is: facts that never change, each read once, since some of them lie in slow memory."""

from collections.abc import Callable, Mapping
from typing import Any

from exporters.gpu.nvml.calls import Caller
from exporters.gpu.questions import Fact

# nvmlBrandType_t and nvmlDeviceArchitecture_t of nvml.h.
_BRANDS = {
    1: "quadro",
    2: "tesla",
    3: "nvs",
    4: "grid",
    5: "geforce",
    6: "titan",
    7: "vapps",
    8: "vpc",
    9: "vcs",
    10: "vws",
    11: "cloud_gaming",
    12: "quadro_rtx",
    13: "rtx",
    14: "nvidia",
    15: "geforce_rtx",
    16: "titan_rtx",
}
_ARCHITECTURES = {
    2: "kepler",
    3: "maxwell",
    4: "pascal",
    5: "volta",
    6: "turing",
    7: "ampere",
    8: "ada",
    9: "hopper",
    10: "blackwell",
}

_SOURCES: Mapping[Fact, tuple[str, Callable[[Any], str]]] = {
    "name": ("nvmlDeviceGetName", str),
    "brand": ("nvmlDeviceGetBrand", lambda number: _BRANDS.get(number, "")),
    "architecture": ("nvmlDeviceGetArchitecture", lambda number: _ARCHITECTURES.get(number, "")),
    "compute_capability": ("nvmlDeviceGetCudaComputeCapability", lambda pair: ".".join(map(str, pair))),
    "pci_bus_id": ("nvmlDeviceGetPciInfo", lambda pci: _text(pci.busId)),
    "serial": ("nvmlDeviceGetSerial", str),
    "board_part_number": ("nvmlDeviceGetBoardPartNumber", str),
    "vbios_version": ("nvmlDeviceGetVbiosVersion", str),
    "minor_number": ("nvmlDeviceGetMinorNumber", str),
}


def read(caller: Caller, fact: Fact) -> str:
    """Return one fact; a number that this version does not know is an empty text."""
    function, text = _SOURCES[fact]
    return text(caller.once(function, lambda: caller(function)))


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value

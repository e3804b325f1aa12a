"""What the PCI bus says about NVIDIA GPUs, from sysfs: it needs no driver, and looking wakes no sleeping GPU."""

import os
from dataclasses import dataclass
from pathlib import Path

from exporters.gpu.xid.kernel_log import address

NVIDIA = "0x10de"
# The upper 16 bits of the class: a VGA controller, and a 3D controller, which is a GPU without outputs.
GPU_CLASSES = ("0x0300", "0x0302")
OWN_DRIVER = "nvidia"
# What the container runtime sets; with "all", or without it, NVML shows every GPU of the machine.
VISIBLE = "NVIDIA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class PciGpu:
    """One GPU on the bus.

    Attributes:
        address: Such as ``0000:0f:00.0``.
        driver: The kernel driver that it is bound to; empty for none.
        suspended: Whether runtime power management has put it to sleep.
    """

    address: str
    driver: str
    suspended: bool

    @property
    def expected(self) -> bool:
        """Whether NVML must show it: it is awake, and was not given to another driver such as vfio-pci."""
        return self.driver in ("", OWN_DRIVER) and not self.suspended


class PciBus:
    """The NVIDIA GPUs under a sysfs.

    Args:
        sysfs: Where it is mounted.
        visible: The value of NVIDIA_VISIBLE_DEVICES, or None.
    """

    def __init__(self, sysfs: Path, visible: str | None = None) -> None:
        self._devices = sysfs / "bus" / "pci" / "devices"
        self._visible = visible
        self._known: dict[str, bool] = {}

    @classmethod
    def of_this_machine(cls, sysfs: Path) -> "PciBus":
        """Return the bus as this process is told to see it."""
        return cls(sysfs, os.environ.get(VISIBLE))

    @property
    def complete(self) -> bool:
        """Whether this process is to see every GPU of the bus; a container that was given some is not."""
        return self._visible in (None, "", "all")

    def gpus(self) -> list[PciGpu] | None:
        """Return the GPUs in order of their address, or None where the bus cannot be read."""
        try:
            names = sorted(device.name for device in self._devices.iterdir())
        except OSError:
            return None
        self._known = {name: self._known[name] if name in self._known else self._is_gpu(name) for name in names}
        return [self._gpu(name) for name in names if self._known[name]]

    def suspended(self, pci_bus_id: str) -> bool | None:
        """Return whether the GPU at NVML's address sleeps, or None where the kernel does not say."""
        place = address(pci_bus_id)
        if place is None:
            return None
        status = _text(
            self._devices / f"{place.domain:04x}:{place.bus:02x}:{place.device:02x}.0" / "power/runtime_status"
        )
        return status == "suspended" if status else None

    def _is_gpu(self, name: str) -> bool:
        device = self._devices / name
        return _text(device / "vendor") == NVIDIA and _text(device / "class")[:6] in GPU_CLASSES

    def _gpu(self, name: str) -> PciGpu:
        device = self._devices / name
        try:
            driver = (device / "driver").readlink().name
        except OSError:
            driver = ""
        return PciGpu(name, driver, _text(device / "power/runtime_status") == "suspended")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""

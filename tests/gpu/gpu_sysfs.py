"""A sysfs with GPUs on its PCI bus."""

from pathlib import Path


def add_gpu(
    sysfs: Path, address: str, driver: str = "nvidia", status: str | None = "active", vendor: str = "0x10de"
) -> Path:
    """Put a device there, which is a GPU without outputs, and return its folder."""
    device = sysfs / "bus/pci/devices" / address
    (device / "power").mkdir(parents=True)
    (device / "vendor").write_text(f"{vendor}\n")
    (device / "class").write_text("0x030200\n")
    if driver:
        bound = sysfs / "bus/pci/drivers" / driver
        bound.mkdir(parents=True, exist_ok=True)
        (device / "driver").symlink_to(bound)
    if status:
        set_power(device, status)
    return device


def set_power(device: Path, status: str) -> None:
    """Say what runtime power management has done to it."""
    (device / "power/runtime_status").write_text(f"{status}\n")

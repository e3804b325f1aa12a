"""The one place that touches pynvml: ctypes, error numbers and functions that were renamed stay behind it."""

from exporters.gpu.nvml.device import NvmlDevice
from exporters.gpu.nvml.driver import NvmlDriver

__all__ = ["NvmlDevice", "NvmlDriver"]

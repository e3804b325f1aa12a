"""The library itself: initialised, shut down, and asked for its GPUs."""

from typing import Any

from exporters.gpu.answers import Versions
from exporters.gpu.errors import PermissionDeniedError, TransientError, UnsupportedError
from exporters.gpu.nvml.calls import call
from exporters.gpu.nvml.device import NvmlDevice
from exporters.gpu.nvml.events import NvmlXidEvents
from exporters.gpu.nvml.gpm import Gpm


class NvmlDriver:
    """Every GPU of this machine, through ``libnvidia-ml.so.1``.

    pynvml keeps the library that it once loaded: after an upgrade on disk only a new process sees the new one.
    """

    simulated = False

    def __init__(self) -> None:
        self._gpm: dict[int, Gpm] = {}

    def open(self) -> None:
        """Load the library and initialise it."""
        call("nvmlInit")

    def close(self) -> None:
        """Shut the library down; every `NvmlDevice` is then invalid."""
        samples, self._gpm = self._gpm, {}
        for gpm in samples.values():
            gpm.free()
        call("nvmlShutdown")

    def versions(self) -> Versions:
        """Return the versions of the driver and its library."""
        cuda = int(self._or_empty("nvmlSystemGetCudaDriverVersion") or 0)
        return Versions(
            driver=self._driver_version(),
            cuda=f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else "",
            nvml=str(self._or_empty("nvmlSystemGetNVMLVersion")),
        )

    def device_count(self) -> int:
        """Return how many GPUs there are."""
        return int(call("nvmlDeviceGetCount"))

    def device(self, index: int) -> NvmlDevice:
        """Return the GPU at this index."""
        handle = call("nvmlDeviceGetHandleByIndex", index)
        uuid = str(call("nvmlDeviceGetUUID", handle))
        return NvmlDevice(handle, uuid, self._driver_version(), self._gpm.setdefault(index, Gpm()))

    def xid_events(self) -> NvmlXidEvents:
        """Begin to watch for XIDs."""
        return NvmlXidEvents()

    def _driver_version(self) -> str:
        return str(self._or_empty("nvmlSystemGetDriverVersion"))

    def _or_empty(self, function: str) -> Any:
        try:
            return call(function)
        except (UnsupportedError, PermissionDeniedError, TransientError):
            return ""

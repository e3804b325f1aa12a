"""How many GPUs there should be, from a flag and from the PCI bus, and whether the bus has changed."""

import logging
import time
from collections.abc import Callable
from typing import Literal

from exporters.gpu.pci import PciBus, PciGpu

log = logging.getLogger(__name__)

ExpectedSource = Literal["config", "pci"]
LOOK_EVERY_SECONDS = 10.0


class Expected:
    """The GPUs that should be there.

    Args:
        configured: What `--gpu.expected` says; None for nothing.
        bus: The PCI bus; None where it says nothing about these GPUs, as with simulated ones.
    """

    def __init__(
        self, configured: int | None = None, bus: PciBus | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._configured = configured
        self._bus = bus
        self._clock = clock
        self._looked: float | None = None
        self._gpus: list[PciGpu] | None = None

    def counts(self) -> dict[ExpectedSource, int]:
        """Return how many GPUs each source expects; a source that does not know is left out."""
        found: dict[ExpectedSource, int] = {}
        if self._configured is not None:
            found["config"] = self._configured
        if self._gpus and self._bus and self._bus.complete:
            found["pci"] = sum(gpu.expected for gpu in self._gpus)
        return found

    def look(self) -> None:
        """Look at the bus, unless that was a moment ago."""
        now = self._clock()
        if self._bus is None or (self._looked is not None and now - self._looked < LOOK_EVERY_SECONDS):
            return
        self._looked = now
        self._gpus = self._bus.gpus()

    def on_bus(self) -> frozenset[tuple[str, str]]:
        """Return every GPU that was last seen on the bus with its kernel driver: a change is a reason to start anew."""
        return frozenset((gpu.address, gpu.driver) for gpu in self._gpus or ())

    def all_asleep(self) -> bool:
        """Return whether every GPU sleeps: to initialise NVML would wake them."""
        return bool(self._gpus) and all(gpu.suspended for gpu in self._gpus or ())

    def asleep(self) -> int | None:
        """Return how many GPUs sleep, or None where the bus does not say."""
        return None if self._gpus is None else sum(gpu.suspended for gpu in self._gpus)

    def suspended(self, pci_bus_id: str) -> bool | None:
        """Return whether the GPU at NVML's address sleeps, or None where nobody says."""
        return self._bus.suspended(pci_bus_id) if self._bus is not None else None

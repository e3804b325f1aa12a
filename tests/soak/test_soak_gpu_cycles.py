"""100,000 collections through the real pynvml on the fake library, with descriptors and memory flat.

A short soak makes as many fewer as it is shorter than half an hour.
"""

import ctypes
import gc
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))

from gpu_fakes import ALL_COLLECTORS
from gpu_process import FakeNvml, build_fake_nvml

from exporters.gpu.collection import Collection, Notices
from exporters.gpu.driver import Device
from exporters.gpu.errors import DriverError
from exporters.gpu.nvml import NvmlDriver
from exporters.gpu.tally import Tally

CYCLES = 100_000
OF_SECONDS = 1800.0
FEWEST_CYCLES = 2_000
GPUS = 8
# How often NVML is shut down and initialised again, and a GPU is lost or comes back.
REOPEN_EVERY = 500
DISTURB_EVERY = 50
LOST = 3

pytestmark = [pytest.mark.soak, pytest.mark.tool("gcc")]


class Held:
    """What this process holds now."""

    def __init__(self) -> None:
        gc.collect()
        process = psutil.Process()
        self.descriptors, self.threads, self.rss = process.num_fds(), process.num_threads(), process.memory_info().rss

    def __str__(self) -> str:
        return f"{self.descriptors} descriptors, {self.threads} threads, {self.rss / 1e6:.1f} MB"


class Cycles:
    """The driver, its GPUs, and what was collected from them."""

    def __init__(self, nvml: FakeNvml) -> None:
        self.nvml = nvml
        self.driver = NvmlDriver()
        self.tally = Tally()
        self.notices = [Notices(str(index)) for index in range(GPUS)]
        self.devices: list[Device | None] = []
        self.good = self.failed = 0

    def run(self, cycles: int) -> None:
        """Collect this often, the GPUs in turn."""
        for cycle in range(cycles):
            if cycle % REOPEN_EVERY == 0:
                self.reopen()
            if cycle % DISTURB_EVERY == 0:
                lost = {f"_{LOST}__all": 15} if cycle // DISTURB_EVERY % 2 else {}
                self.nvml.tell(gpus=GPUS, temperature=40 + cycle % 40, **lost)
            self.collect(cycle % GPUS)

    def reopen(self) -> None:
        """Shut NVML down, if it was open, and initialise it, with a stream of XIDs that is closed again."""
        if self.devices:
            self.driver.close()
        self.driver.open()
        self.devices = [None] * GPUS
        events = self.driver.xid_events()
        events.wait(0.001)
        events.close()

    def collect(self, index: int) -> None:
        """Collect one GPU as its worker does."""
        try:
            device = self.devices[index] or self.driver.device(index)
            self.devices[index] = device
            assert Collection(device, self.notices[index], self.tally).run(ALL_COLLECTORS).samples
            self.good += 1
        except DriverError:
            self.devices[index] = None
            self.failed += 1


@pytest.mark.complaint(27)
def test_descriptors_and_memory_stay_flat_over_many_collections(
    tmp_path: Path, seconds: float, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    cycles = max(FEWEST_CYCLES, round(CYCLES * seconds / OF_SECONDS))
    library = build_fake_nvml(tmp_path / "lib")
    nvml = FakeNvml(tmp_path, library.parent)
    monkeypatch.setenv("FAKENVML_CONTROL", nvml.environment["FAKENVML_CONTROL"])
    nvml.tell(gpus=GPUS)
    # A library that is loaded already is found again by its name, so that pynvml takes this one.
    ctypes.CDLL(str(library))
    running = Cycles(nvml)
    running.run(cycles // 10)
    warm = Held()
    running.run(cycles)
    now = Held()
    running.driver.close()
    record_property("GPU collections", f"{running.good} good, {running.failed} failed")
    record_property("GPU collections, held", f"warm: {warm}; at the end: {now}")
    assert running.good > cycles * 0.9
    assert running.failed > 0
    assert now.descriptors <= warm.descriptors, f"{warm} -> {now}"
    assert now.threads == warm.threads
    assert now.rss <= warm.rss * 1.05 + 5e6, f"{warm} -> {now}"

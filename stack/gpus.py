"""Which GPUs a stack on this machine watches: real ones, simulated ones, or none."""

import ctypes
from dataclasses import dataclass

import pynvml


@dataclass(frozen=True)
class Gpus:
    """What the GPU exporter is started with.

    Attributes:
        count: How many GPUs there are.
        simulated: Whether they are simulated.
        sentence: What a person is told about them.
    """

    count: int
    simulated: bool
    sentence: str


def real_gpus() -> Gpus:
    """Ask the driver; without a driver or a GPU the count is 0 and the sentence says what is missing."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return Gpus(0, False, "this machine has no NVIDIA driver (libnvidia-ml.so.1 is not installed)")
    try:
        pynvml.nvmlInit()
        try:
            count = int(pynvml.nvmlDeviceGetCount())
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        return Gpus(0, False, f"the NVIDIA driver of this machine does not answer ({error}); nvidia-smi may say more")
    if count == 0:
        return Gpus(0, False, "the NVIDIA driver of this machine sees no GPU; nvidia-smi -L may say more")
    return Gpus(count, False, f"{count} real GPU{'s' if count > 1 else ''} of this machine, read through NVML")


def simulated_gpus(count: int, why: str) -> Gpus:
    """Return simulated GPUs and the sentence that says so; `why` says why there are no real ones."""
    return Gpus(count, True, f"the {count} GPUs are simulated, as {why}")

"""How a metric of a GPU is declared.

`source` names NVML's functions without ``nvmlDevice``, and its field ids. `absent` follows NVML's header and captures
of nvidia-smi on GeForce (Turing, Ada), L40S, H100 and H200.
"""

from inferwatch.metric import Metric

GPU = ("gpu", "uuid")

DRIVERS_BEFORE = "drivers before {}"
IN_MIG_MODE = "GPUs in MIG mode"
NO_ECC = "GPUs without ECC memory, such as GeForce"
BEFORE_HOPPER = "GPUs before Hopper, fractional vGPU"


def gauge(name: str, text: str, *labels: str, source: str = "", absent: str = "") -> Metric:
    """Return a gauge of one GPU, with these labels besides the GPU's own."""
    return Metric(name, "gauge", text, (*GPU, *labels), source=source, absent=absent)


def counter(name: str, text: str, *labels: str, source: str = "", absent: str = "") -> Metric:
    """Return a counter of one GPU, with these labels besides the GPU's own."""
    return Metric(name, "counter", text, (*GPU, *labels), source=source, absent=absent)

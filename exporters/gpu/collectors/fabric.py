"""The fabric of the NVSwitches: a GPU that has not joined it fails whatever program starts on it."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

COMPLETED = 3
# NVML's return codes end with 999 ("unknown").
HIGHEST_CODE = 999


def collect(gpu: Collection) -> None:
    """Collect the state, how joining ended, and what is wrong."""
    fabric = gpu.ask(gpu.device.fabric, "fabric")
    if fabric is None:
        return
    gpu.add(metrics.FABRIC_STATE, fabric.state, at_least=1, at_most=COMPLETED)
    if fabric.state == COMPLETED:
        gpu.add(metrics.FABRIC_STATUS, fabric.status, at_most=HIGHEST_CODE)
    for problem, there in fabric.problems.items():
        gpu.add(metrics.FABRIC_PROBLEM, float(there), problem)

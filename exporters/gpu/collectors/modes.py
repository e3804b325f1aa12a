"""How the GPU is set up. On off switches, 0 or 1; what is pending takes effect at the next reset."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection
from exporters.gpu.questions import Reading
from inferwatch.metric import Metric

SWITCHES: tuple[tuple[Metric, Reading], ...] = (
    (metrics.PERSISTENCE_MODE, "persistence_mode"),
    (metrics.ECC_MODE, "ecc_mode"),
    (metrics.ECC_MODE_PENDING, "ecc_mode_pending"),
    (metrics.MIG_MODE_ENABLED, "mig_mode"),
    (metrics.MIG_MODE_PENDING, "mig_mode_pending"),
    (metrics.GSP_MODE, "gsp_mode"),
    (metrics.ACCOUNTING_MODE, "accounting_mode"),
)
HIGHEST_COMPUTE_MODE = 3
# 32 is NVML's "unknown".
LOWEST_STATE = 15
UNKNOWN_STATE = 32


def collect(gpu: Collection) -> None:
    """Collect the switches, the compute mode and the performance state."""
    for metric, reading in SWITCHES:
        gpu.add_scaled(metric, partial(gpu.device.reading, reading), 1, at_most=1)
    gpu.add_scaled(metrics.COMPUTE_MODE, partial(gpu.device.reading, "compute_mode"), 1, at_most=HIGHEST_COMPUTE_MODE)
    state = gpu.ask(partial(gpu.device.reading, "performance_state"))
    if state is not None and state != UNKNOWN_STATE:
        gpu.add(metrics.PERFORMANCE_STATE, state, at_most=LOWEST_STATE)

"""How much energy the GPU has used. The driver counts from its load on, so a reload starts at 0 again."""

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

MILLIJOULE = 1e-3
# Ten years at 20 kW; NVML's "no value" (all bits set) lies above.
MOST_JOULES = 20_000 * 10 * 366 * 86_400


def collect(gpu: Collection) -> None:
    """Collect the driver's energy counter."""
    gpu.add_scaled(metrics.ENERGY, gpu.device.energy, MILLIJOULE, at_most=MOST_JOULES)

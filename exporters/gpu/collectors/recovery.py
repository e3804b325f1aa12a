"""What the driver asks a person to do about this GPU."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

# A driver that is newer than this exporter may know more.
HIGHEST_ACTION = 31


def collect(gpu: Collection) -> None:
    """Collect the recovery action."""
    gpu.add_scaled(metrics.RECOVERY_ACTION, partial(gpu.device.reading, "recovery_action"), 1, at_most=HIGHEST_ACTION)

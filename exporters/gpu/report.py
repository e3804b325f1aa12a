"""What is known of each GPU at one moment, and of those that were here and are gone."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from exporters.gpu.collection import Snapshot
from exporters.gpu.integrator import ReasonTotals

# A GPU that vanished is reported as down for so long; then it was replaced, and must not page for ever.
FORGET_SECONDS = 86_400.0


@dataclass(frozen=True)
class GpuReport:
    """One GPU as it is now.

    Attributes:
        gpu: The index.
        uuid: The identity; empty for a GPU that was lost before it ever told.
        up: Whether its last collection succeeded and is fresh.
        stuck: Whether a collection is past its deadline.
        suspended: Whether it sleeps and was not asked; None where the kernel does not say.
        last_error_code: The NVML code of the last failed collection; 0 for none.
        last_success: Unix time of the last good collection.
        seconds: How long the last collection took.
        snapshot: What that one found; None unless it is up.
        totals: What the sampler saw; None unless it is up and sampled.
        good_until: When this report ceases to be true by itself, on the monotonic clock; None for never.
    """

    gpu: str
    uuid: str
    up: bool
    stuck: bool = False
    suspended: bool | None = None
    last_error_code: int = 0
    last_success: float | None = None
    seconds: float | None = None
    snapshot: Snapshot | None = None
    totals: ReasonTotals | None = None
    good_until: float | None = None


class Vanished:
    """The GPUs that were here, each as it was last reported, by uuid, until they are back or forgotten."""

    def __init__(self) -> None:
        self._gone: dict[str, tuple[float, GpuReport]] = {}

    def remember(self, reports: Iterable[GpuReport], now: float) -> None:
        """Take these GPUs as gone from now on."""
        for report in reports:
            down = replace(
                report,
                up=False,
                stuck=False,
                suspended=None,
                seconds=None,
                snapshot=None,
                totals=None,
                good_until=now + FORGET_SECONDS,
            )
            self._gone[report.uuid] = (now, down)

    def without(self, here: set[str], now: float) -> dict[str, GpuReport]:
        """Return those that are not here and not forgotten, by uuid."""
        return {
            uuid: last
            for uuid, (since, last) in self._gone.copy().items()
            if uuid not in here and now - since < FORGET_SECONDS
        }

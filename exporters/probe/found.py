"""The series of what probes found out about a target, made anew at each scrape."""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from exporters.probe import metrics
from exporters.probe.families import Families
from exporters.probe.parameters import REPLACED


class FoundCollector(Collector):
    """Yields which parameters each target refuses.

    Args:
        refused: Returns the names of the parameters by target.
    """

    def __init__(self, refused: Callable[[], Mapping[str, frozenset[str]]]) -> None:
        self._refused = refused

    def collect(self) -> Iterable[Family]:
        """Return one family per metric."""
        families = Families()
        for target, parameters in self._refused().items():
            for parameter in sorted(parameters):
                labels = {"target": target, "parameter": parameter, "instead": REPLACED[parameter] or "none"}
                families.add(metrics.PARAM_FALLBACK_INFO, labels, 1)
        return families.all()

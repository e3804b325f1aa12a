"""The series of what probes found out about a target and about this process, made anew at each scrape."""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from exporters.probe import metrics
from exporters.probe.asking.parameters import REPLACED
from exporters.probe.metrics.histogram import Histogram
from exporters.probe.series.families import Families
from exporters.probe.targets.identity import Identity


class FoundCollector(Collector):
    """Yields which parameters each target refuses, who answers and with which status, and how late this process is.

    Args:
        refused: Returns the names of the parameters by target.
        identities: Returns who answers, by target and model that was asked for.
        responses: Returns how often each target answered with which status.
        lag: Returns the lag of this process; None while it is not measured.
    """

    def __init__(
        self,
        refused: Callable[[], Mapping[str, frozenset[str]]],
        identities: Callable[[], Mapping[tuple[str, str], Identity]],
        responses: Callable[[], Mapping[str, Mapping[str, int]]],
        lag: Callable[[], Histogram | None],
    ) -> None:
        self._refused = refused
        self._identities = identities
        self._responses = responses
        self._lag = lag

    def collect(self) -> Iterable[Family]:
        """Return one family per metric."""
        families = Families()
        for target, parameters in self._refused().items():
            for parameter in sorted(parameters):
                labels = {"target": target, "parameter": parameter, "instead": REPLACED[parameter] or "none"}
                families.add(metrics.PARAM_FALLBACK_INFO, labels, 1)
        for (target, model_name), identity in self._identities().items():
            labels = {"target": target, "model_name": model_name}
            names = identity.names
            named = {"response_model": names["model"], "fingerprint": names["system_fingerprint"]}
            named["server_version"] = names["server_version"]
            if any(named.values()):
                families.add(metrics.RESPONSE_MODEL_INFO, {**labels, **named}, 1)
            for field, count in identity.changes.items():
                families.add(metrics.IDENTITY_CHANGES, {**labels, "field": field}, count)
        for target, codes in self._responses().items():
            for code, count in codes.items():
                families.add(metrics.HTTP_RESPONSES, {"target": target, "code": code}, count)
        if (lag := self._lag()) is not None:
            families.add_histogram(metrics.LAG, {}, lag)
        return families.all()

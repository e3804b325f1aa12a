"""Whether the web configuration on disk is the one in force, as a metric."""

from collections.abc import Iterable

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from inferwatch.metric import Metric
from inferwatch.web_config.keeper import WebConfigKeeper


class WebConfigHealth(Collector):
    """Yields one gauge; `metric` is its declaration by the exporter that serves it."""

    def __init__(self, keeper: WebConfigKeeper, metric: Metric) -> None:
        self._keeper = keeper
        self._metric = metric

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield whether the last attempt to read the file succeeded."""
        yield GaugeMetricFamily(self._metric.name, self._metric.help, float(self._keeper.successful))

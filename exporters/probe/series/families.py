"""Our metric declarations -> prometheus_client's families, one sample at a time."""

from collections.abc import Mapping
from itertools import accumulate
from typing import Protocol

from prometheus_client import Metric as Family

from exporters.probe.metrics.histogram import Histogram
from inferwatch.metric import Metric

# What heads a family: its name without _total, its help and its kind.
FamilyKey = tuple[str, str, str]


class Samples(Protocol):
    """Where samples are added: Families, or Lines."""

    def add(self, metric: Metric, labels: Mapping[str, str], value: float) -> None:
        """Add a sample of a gauge or counter."""

    def add_histogram(self, metric: Metric, labels: Mapping[str, str], histogram: Histogram) -> None:
        """Add the buckets, count and sum of a histogram."""

    def add_summary(self, total: Metric, count: Metric, labels: Mapping[str, str], values: tuple[float, float]) -> None:
        """Add a sum and a count as a summary without quantiles."""


class Families:
    """Collects samples by metric; `all` returns them in the order of the declarations given to it."""

    def __init__(self) -> None:
        self._families: dict[FamilyKey, Family] = {}

    def add(self, metric: Metric, labels: Mapping[str, str], value: float) -> None:
        """Add a sample of a gauge or counter; labels beyond those declared are the file's own."""
        self._family(family_key(metric)).add_sample(metric.name, dict(labels), value)

    def add_histogram(self, metric: Metric, labels: Mapping[str, str], histogram: Histogram) -> None:
        """Add the buckets, count and sum of a histogram."""
        family = self._family(family_key(metric))
        bounds = [*(str(bound) for bound in histogram.bounds), "+Inf"]
        for bound, count in zip(bounds, accumulate(histogram.counts), strict=True):
            family.add_sample(metric.bucket, {**labels, "le": bound}, count)
        family.add_sample(metric.count, dict(labels), sum(histogram.counts))
        family.add_sample(metric.sum, dict(labels), histogram.total)

    def add_summary(self, total: Metric, count: Metric, labels: Mapping[str, str], values: tuple[float, float]) -> None:
        """Add a sum and a count as the summary without quantiles that they are to Prometheus."""
        family = self._family(summary_key(total))
        family.add_sample(count.name, dict(labels), values[1])
        family.add_sample(total.name, dict(labels), values[0])

    def all(self) -> list[Family]:
        """Return every family that has a sample."""
        return list(self._families.values())

    def _family(self, key: FamilyKey) -> Family:
        if key not in self._families:
            self._families[key] = Family(*key)
        return self._families[key]


def family_key(metric: Metric) -> FamilyKey:
    """Return what heads the family of a metric."""
    # prometheus_client appends _total to a counter's family itself.
    name = metric.name.removesuffix("_total") if metric.kind == "counter" else metric.name
    return name, metric.help, metric.kind


def summary_key(total: Metric) -> FamilyKey:
    """Return what heads the summary of which a metric is the sum."""
    return total.name.removesuffix("_sum"), total.help, "summary"

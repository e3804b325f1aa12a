"""A GPU exporter's metrics, as the check reads them."""

from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from exporters.gpu import metrics as gpu
from inferwatch.metric import Metric

Labels = dict[str, str]


@dataclass(frozen=True)
class GpuPage:
    """The samples of one scrape: the labels and value of each series, by name."""

    samples: dict[str, list[tuple[Labels, float]]]

    @classmethod
    def parse(cls, text: str) -> "GpuPage":
        """Return the page of a text.

        Raises:
            ValueError: If the text is not in Prometheus's format.
        """
        samples: dict[str, list[tuple[Labels, float]]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                samples.setdefault(sample.name, []).append((sample.labels, sample.value))
        return cls(samples)

    def value(self, metric: Metric) -> float | None:
        """Return the value of a metric that is one series."""
        found = self.samples.get(metric.name)
        return found[0][1] if found else None

    def count(self, name: str) -> int:
        """Return how many series have this name."""
        return len(self.samples.get(name, ()))

    @property
    def here(self) -> set[int]:
        """The indices of the GPUs that are up."""
        return self._gpus(gpu.UP, lambda value: value == 1)

    @property
    def down(self) -> set[int]:
        """The indices of the GPUs that are not up, or were here in the last day."""
        return self._gpus(gpu.UP, lambda value: value == 0) - self.here

    @property
    def tells_processes(self) -> set[int]:
        """The indices of the GPUs whose processes are known, and be it that there are none."""
        return self._gpus(gpu.PROCESSES, lambda _: True)

    @property
    def in_use(self) -> set[int]:
        """The indices of the GPUs that a process uses."""
        return self._gpus(gpu.PROCESSES, lambda value: value > 0)

    def _gpus(self, metric: Metric, holds: Callable[[float], bool]) -> set[int]:
        found = self.samples.get(metric.name, ())
        return {int(labels["gpu"]) for labels, value in found if labels.get("gpu", "").isdecimal() and holds(value)}

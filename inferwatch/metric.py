"""The declaration of one metric: its name is written here once, and rules, alerts and panels import it."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True)
class Metric:
    """A metric as it is exposed.

    Attributes:
        name: The full exposed name; a counter's ends in ``_total``.
        kind: The Prometheus type.
        help: A full sentence.
        labels: The label names, without those that a scrape adds.
        buckets: The upper bounds of a histogram, in the metric's unit, without +Inf.
        source: Where the value comes from, such as a function of a library; empty for what the exporter itself counts.
        absent: Where there is no such value; empty for what is always there.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    source: str = ""
    absent: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def bucket(self) -> str:
        """The name of a histogram's cumulative buckets."""
        return f"{self.name}_bucket"

    @property
    def sum(self) -> str:
        """The name of a histogram's sum."""
        return f"{self.name}_sum"

    @property
    def count(self) -> str:
        """The name of a histogram's count."""
        return f"{self.name}_count"

    @property
    def series_names(self) -> tuple[str, ...]:
        """Every series name that this metric puts into a scrape."""
        return (self.bucket, self.sum, self.count) if self.kind == "histogram" else (self.name,)

"""The samples of one target and scenario as lines of `/metrics`: what prometheus_client writes, in less time.

Most of `/metrics` are buckets that differ in `le` alone, so their other labels are written once. Both formats have the
same lines; the heads of the families, in which they differ, are left to prometheus_client.
"""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from prometheus_client.utils import floatToGoString

from exporters.probe.metrics.histogram import Histogram
from exporters.probe.series.families import FamilyKey, family_key, summary_key
from inferwatch.metric import Metric

# From here on the format writes a whole number with an exponent.
_EXPONENT = 10**6


@dataclass(frozen=True, slots=True)
class Piece:
    """The lines of one target and scenario in one text: thousands of small ones would leave the heap full of holes.

    Attributes:
        places: The families that it has, each with its place; shared by all pieces that have the same.
        ends: Where in the text the lines of each family end.
        text: The lines, family after family.
    """

    places: Mapping[FamilyKey, int]
    ends: "array[int]"
    text: bytes

    def of(self, family: FamilyKey) -> bytes:
        """Return the lines of a family; none if the piece does not have it."""
        place = self.places.get(family)
        if place is None:
            return b""
        return self.text[self.ends[place - 1] if place else 0 : self.ends[place]]


class Lines:
    """Collects lines by family; takes what `Families` takes."""

    def __init__(self) -> None:
        self._lines: dict[FamilyKey, list[str]] = {}

    def add(self, metric: Metric, labels: Mapping[str, str], value: float) -> None:
        """Add a sample of a gauge or counter."""
        self._of(family_key(metric)).append(f"{metric.name}{_braced(labels)} {_number(value)}\n")

    def add_histogram(self, metric: Metric, labels: Mapping[str, str], histogram: Histogram) -> None:
        """Add the buckets, count and sum of a histogram."""
        lines = self._of(family_key(metric))
        before, after = f"{metric.bucket}{_braced({**labels, 'le': '|'})} ".split('le="|"')
        bounds = [*(str(bound) for bound in histogram.bounds), "+Inf"]
        for bound, count in zip(bounds, accumulate(histogram.counts), strict=True):
            lines.append(f'{before}le="{bound}"{after}{_number(count)}\n')
        lines.append(f"{metric.count}{_braced(labels)} {_number(sum(histogram.counts))}\n")
        lines.append(f"{metric.sum}{_braced(labels)} {_number(histogram.total)}\n")

    def add_summary(self, total: Metric, count: Metric, labels: Mapping[str, str], values: tuple[float, float]) -> None:
        """Add a sum and a count as a summary without quantiles."""
        lines = self._of(summary_key(total))
        lines.append(f"{count.name}{_braced(labels)} {_number(values[1])}\n")
        lines.append(f"{total.name}{_braced(labels)} {_number(values[0])}\n")

    def piece(self) -> Piece:
        """Return all lines."""
        families = ["".join(lines).encode() for lines in self._lines.values()]
        ends = array("L", accumulate(len(lines) for lines in families))
        return Piece(_places(tuple(self._lines)), ends, b"".join(families))

    def _of(self, key: FamilyKey) -> list[str]:
        return self._lines.setdefault(key, [])


@cache
def _places(families: tuple[FamilyKey, ...]) -> Mapping[FamilyKey, int]:
    return {family: place for place, family in enumerate(families)}


def _braced(labels: Mapping[str, str]) -> str:
    return "{" + ",".join([f'{name}="{_escaped(value)}"' for name, value in sorted(labels.items())]) + "}"


def _escaped(value: str) -> str:
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return value


def _number(value: float) -> str:
    if isinstance(value, int) and 0 <= value < _EXPONENT:
        return f"{int(value)}.0"
    number: str = floatToGoString(value)  # type: ignore[no-untyped-call]
    return number

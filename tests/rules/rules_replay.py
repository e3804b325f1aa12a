"""Turns captured `/metrics` of an engine into a promtool test: one capture's counters grow into another's."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"
STEP_SECONDS = 15
STEPS = 80
SECONDS = STEP_SECONDS * STEPS
_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Labels = dict[str, str]
Key = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Sample:
    """One sample of a capture, with the labels that it had on the wire."""

    name: str
    labels: Labels
    value: float


def capture(file: str) -> list[Sample]:
    """Return the samples of a capture in tests/rules/fixtures."""
    samples = []
    for line in (FIXTURES / file).read_text().splitlines():
        if line and not line.startswith("#"):
            match = _LINE.match(line)
            assert match, line
            samples.append(Sample(match[1], dict(_LABEL.findall(match[2] or "")), float(match[3])))
    return samples


def is_counter(name: str) -> bool:
    """Return whether a captured series is a counter, judged by its name."""
    return name.endswith(("_total", "_bucket", "_sum", "_count"))


@dataclass(frozen=True)
class Replay:
    """An engine between two captures, scraped with `scraped` as the labels that Prometheus and discovery add.

    `held` is the capture whose gauges hold all the while.
    """

    first: list[Sample]
    last: list[Sample]
    held: list[Sample]
    scraped: Labels

    def growth(self, name: str, where: Callable[[Labels], bool] = lambda _: True) -> float:
        """Return by how much a counter grows, summed over its series."""
        total = sum(sample.value for sample in self.last if sample.name == name and where(sample.labels))
        return total - sum(sample.value for sample in self.first if sample.name == name and where(sample.labels))

    def gauge(self, name: str) -> list[float]:
        """Return the values that a gauge holds."""
        return [sample.value for sample in self.held if sample.name == name]

    def names(self) -> set[str]:
        """Return the names that occur."""
        return {sample.name for sample in self.last}

    def input_series(self) -> list[dict[str, str]]:
        """Return the series as promtool reads them."""
        start = {_key(sample): sample.value for sample in self.first}
        series = []
        for sample in self.last:
            if is_counter(sample.name):
                before = start[_key(sample)]
                values = f"{before!r}+{(sample.value - before) / STEPS!r}x{STEPS}"
                series.append({"series": self._named(sample), "values": values})
        series += [
            {"series": self._named(sample), "values": f"{sample.value!r}x{STEPS}"}
            for sample in self.held
            if not is_counter(sample.name)
        ]
        return series

    def _named(self, sample: Sample) -> str:
        return sample.name + labels_text(sample.labels | self.scraped)


def labels_text(labels: Labels) -> str:
    """Return labels as PromQL writes them."""
    return "{" + ",".join(f'{name}="{value}"' for name, value in sorted(labels.items())) + "}"


def _key(sample: Sample) -> Key:
    return sample.name, tuple(sorted(sample.labels.items()))


def about(expr: str, value: float, labels: Labels) -> dict[str, object]:
    """Return a promtool expectation: exactly one sample with exactly these labels, within a thousandth of the value."""
    within = max(abs(value) * 1e-3, 1e-9)
    return {
        "expr": f"abs({expr} - {value!r}) <= bool {within!r}",
        "eval_time": f"{SECONDS}s",
        "exp_samples": [{"labels": labels_text(labels), "value": 1}],
    }

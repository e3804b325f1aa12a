"""Turns captured `/metrics` of an engine into the course of its series: one capture's counters grow into another's."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"
STEP_SECONDS = 15
STEPS = 80
SECONDS = STEP_SECONDS * STEPS
_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

_BARE_COUNTER = re.compile(r"tgi_request_(success|failure)|nv_inference_(request_(success|failure)|\w+_duration_us)")

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


def header(file: Path) -> dict[str, str]:
    """Return what a capture says of itself: `level` (live, source or docs) and `from`."""
    return dict(re.findall(r"(?m)^# (level|from): (.+)$", file.read_text()))


def is_counter(name: str) -> bool:
    """Return whether a captured series is a counter, judged by its name; TGI's and Triton's have no suffix."""
    return name.endswith(("_total", "_bucket", "_sum", "_count")) or bool(_BARE_COUNTER.fullmatch(name))


def renamed(name: str, labels: Labels, configs: list[dict[str, Any]]) -> str:
    """Return the name that the scrape's relabelling gives a series."""
    for config in configs:
        if config.get("target_label") == "__name__":
            source = ";".join((labels | {"__name__": name}).get(label, "") for label in config["source_labels"])
            if match := re.fullmatch(config["regex"], source):
                name = match.expand(re.sub(r"\$(\d)", r"\\\1", config["replacement"]))
    return name


def from_zero(samples: list[Sample]) -> list[Sample]:
    """Return the same samples with counters at 0, for an engine that was captured once."""
    return [Sample(one.name, one.labels, 0.0 if is_counter(one.name) else one.value) for one in samples]


@dataclass(frozen=True)
class Replay:
    """An engine between two captures, scraped with `scraped` as the labels that Prometheus and discovery add.

    `held` is the capture whose gauges hold all the while; `relabel` is what the engine's scrape job does.
    """

    first: list[Sample]
    last: list[Sample]
    held: list[Sample]
    scraped: Labels
    relabel: list[dict[str, Any]] = field(default_factory=list)

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

    def courses(self) -> list[tuple[Sample, float]]:
        """Return each series as its first sample, and by how much it grows in each step."""
        start = {_key(sample): sample.value for sample in self.first}
        counters = [one for one in self.last if is_counter(one.name)]
        moving = [
            (Sample(one.name, one.labels, start[_key(one)]), (one.value - start[_key(one)]) / STEPS) for one in counters
        ]
        return moving + [(one, 0.0) for one in self.held if not is_counter(one.name)]

    def input_series(self) -> list[dict[str, str]]:
        """Return the series as promtool reads them."""
        return [
            {
                "series": renamed(one.name, one.labels, self.relabel) + labels_text(one.labels | self.scraped),
                "values": f"{one.value!r}+{step!r}x{STEPS}" if step else f"{one.value!r}x{STEPS}",
            }
            for one, step in self.courses()
        ]

    def page(self, start: float) -> str:
        """Return all steps as one page with time stamps, as a server would have exported them since `start`."""
        lines = []
        for one, step in self.courses():
            series = one.name + labels_text(one.labels)
            lines += [
                f"{series} {one.value + step * index!r} {int((start + index * STEP_SECONDS) * 1000)}"
                for index in range(STEPS + 1)
            ]
        return "\n".join(lines) + "\n"


def labels_text(labels: Labels) -> str:
    """Return labels as PromQL writes them."""
    return "{" + ",".join(f'{name}="{value}"' for name, value in sorted(labels.items())) + "}"


def _key(sample: Sample) -> Key:
    return sample.name, tuple(sorted(sample.labels.items()))


def tolerance(value: float) -> float:
    """Return by how much a figure may differ from what was worked out."""
    return max(abs(value) * 1e-3, 1e-9)


def about(expr: str, value: float, labels: Labels) -> dict[str, object]:
    """Return a promtool expectation: exactly one sample with exactly these labels, within a thousandth of the value."""
    return {
        "expr": f"abs({expr} - {value!r}) <= bool {tolerance(value)!r}",
        "eval_time": f"{SECONDS}s",
        "exp_samples": [{"labels": labels_text(labels), "value": 1}],
    }

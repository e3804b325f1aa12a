"""Every declared metric follows Prometheus's conventions, and the generated list is complete."""

import importlib
import re
from pathlib import Path

import pytest

from exporters.probe import metrics as probe_metrics
from inferwatch.config.fields import TAKEN_LABELS
from inferwatch.config.objectives import LARGEST_SLO_SECONDS
from inferwatch.metric import Metric
from prometheus.meanings import meanings
from prometheus.recording import rule_groups
from stack import metrics_page

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = ("exporters/*/metrics*", "exporters/**/*_metrics.py", "stack/**/metrics.py")
DECLARING = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in DECLARING]
METRICS: list[Metric] = [metric for module in MODULES for metric in importlib.import_module(module).ALL]
SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
BASE_UNITS = ("seconds", "bytes", "celsius", "watts", "joules", "hertz", "ratio")
OTHER_UNITS = {"ms", "milliseconds", "minutes", "hours", "percent", "mb", "mib", "gb", "kb", "mhz", "khz", "milliwatts"}
SUFFIXES = ("_total", "_sum", "_count", "_bucket", "_created")
RESERVED_LABELS = {"le", "quantile", "job", "instance", "node"}

every_metric = pytest.mark.parametrize("metric", METRICS, ids=str)


def test_metrics_are_found():
    assert {"exporters.gpu.metrics", "exporters.probe.metrics"} <= set(MODULES)


def test_names_are_unique_also_with_suffixes():
    names = [name for metric in METRICS for name in metric.series_names]
    assert sorted(set(names)) == sorted(names)


@every_metric
def test_name(metric):
    assert SNAKE.fullmatch(metric.name)
    words = metric.name.split("_")
    assert not OTHER_UNITS & set(words), "use a base unit"
    body = re.sub(r"_(total|sum|count)$", "", metric.name) if metric.kind == "counter" else metric.name
    # A rate that a driver measures itself is no counter.
    body = body.removesuffix("_per_second")
    unit = [word for word in body.split("_") if word in BASE_UNITS]
    assert not unit or body.endswith(f"_{unit[-1]}"), "the unit is the last word"


@every_metric
def test_suffix_fits_the_kind(metric):
    if metric.kind == "counter":
        # A pair _sum and _count is a summary in all but type.
        assert metric.name.endswith(("_total", "_sum", "_count"))
        if not metric.name.endswith("_total"):
            pair = {metric.name.removesuffix("_sum").removesuffix("_count") + end for end in ("_sum", "_count")}
            assert pair <= {other.name for other in METRICS}
    else:
        assert not metric.name.endswith(SUFFIXES)
    if metric.name.endswith("_info"):
        assert metric.kind == "gauge"
        assert "always 1" in metric.help


@every_metric
def test_help_is_a_sentence(metric):
    assert metric.help.endswith(".")
    assert metric.help[0].isupper()
    assert "\n" not in metric.help
    assert len(metric.help) <= 200


@every_metric
def test_labels(metric):
    assert len(set(metric.labels)) == len(metric.labels)
    assert all(SNAKE.fullmatch(label) for label in metric.labels)
    scraped = RESERVED_LABELS & set(metric.labels)
    # A configured fact may name a node or a quantile: it says something about them, and is not one of their series.
    assert not scraped or (metric.name.startswith("llm_") and scraped <= {"node", "quantile"})


@every_metric
def test_buckets(metric):
    assert bool(metric.buckets) == (metric.kind == "histogram")
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert all(0 < bound < float("inf") for bound in metric.buckets)


def test_objectives_end_where_the_probes_histograms_end():
    histograms = {"ttft": probe_metrics.TTFT, "tpot": probe_metrics.TPOT, "e2e": probe_metrics.E2E}
    for name, largest in LARGEST_SLO_SECONDS.items():
        assert largest <= histograms[name].buckets[-1], f"no probe could show that {name} is above {largest} s"


def test_labels_of_the_file_cannot_clash_with_ours():
    assert set(probe_metrics.TARGET_INFO.labels) <= TAKEN_LABELS


def test_series_names():
    histogram = Metric("ttft_seconds", "histogram", "How long.", buckets=(1.0,))
    assert histogram.series_names == ("ttft_seconds_bucket", "ttft_seconds_sum", "ttft_seconds_count")
    assert Metric("gpu_up", "gauge", "Up.").series_names == ("gpu_up",)


def test_every_recorded_series_has_a_meaning():
    recorded = {rule["record"] for groups in rule_groups().values() for group in groups for rule in group["rules"]}
    explained = [name for row in meanings() for name in row.names]
    assert len(explained) == len(set(explained))
    assert set(explained) == recorded
    assert all(row.meaning.endswith(".") and row.meaning[0].isupper() for row in meanings())


def test_the_list_of_metrics_is_up_to_date():
    for file, text in metrics_page.rendered().items():
        assert file.read_text() == text, "run `make generate`"
        assert all(f"| `{metric.name}` |" in text for metric in METRICS)


def test_no_metric_is_declared_where_the_list_does_not_look():
    files = [file for folder in ("exporters", "stack") for file in (ROOT / folder).rglob("*.py")]
    declared = {name for file in files for name in re.findall(r"\bMetric\(\s*\"(\w+)\"", file.read_text())}
    assert "probe_success" in declared
    assert declared <= {metric.name for metric in METRICS}

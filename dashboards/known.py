"""Which series exist: those that our exporters declare, that our rules record, and that Prometheus makes itself."""

from functools import cache
from pathlib import Path

import yaml

from exporters.gpu import metrics as gpu
from exporters.probe import metrics as probe
from inferwatch.metric import Metric

ROOT = Path(__file__).resolve().parent.parent
RULE_FOLDERS = (ROOT / "prometheus" / "rules", ROOT / "alerting" / "rules")
PROMETHEUS_OWN = frozenset({"up", "ALERTS", "ALERTS_FOR_STATE", "scrape_duration_seconds"})
# What a scrape adds to each series of the job.
SCRAPE_LABELS = frozenset({"job", "instance", "node"})


def declared() -> dict[str, Metric]:
    """Return the metric behind every series name that our exporters serve."""
    return {name: metric for metric in (*gpu.ALL, *probe.ALL) for name in metric.series_names}


@cache
def recorded(folders: tuple[Path, ...] = RULE_FOLDERS) -> frozenset[str]:
    """Return the names that the generated rule files record."""
    files = [file for folder in folders for file in sorted(folder.glob("*.yml"))]
    groups = [group for file in files for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]]
    return frozenset(rule["record"] for group in groups for rule in group["rules"] if "record" in rule)


def known_series() -> frozenset[str]:
    """Return every series name that a panel may use."""
    return PROMETHEUS_OWN | recorded() | frozenset(declared())

"""The page about the GPU exporter says what the code does."""

import re
from pathlib import Path

from exporters.gpu import metrics
from exporters.gpu.collectors import COLLECTORS
from exporters.gpu.metrics import exporter, health
from exporters.gpu.nvml.readings import SOURCES, FieldOf
from stack.metrics_page import unit

PAGE = Path(__file__).parents[2] / "docs" / "gpu-exporter.md"


def test_every_collector_is_in_the_table_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (on|off) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(name, "on" if collector.on else "off") for name, collector in COLLECTORS.items()]


def test_every_value_of_the_hardware_has_a_source() -> None:
    # These are the exporter's own; what a GPU tells of its health has a source as well.
    own = {id(metric) for module in (exporter, health) for metric in vars(module).values()}
    without = {metric.name for metric in metrics.ALL if not metric.source and id(metric) not in own}
    assert without == {metrics.XID_INFO.name, metrics.XID_SOURCE.name}


def test_every_field_that_is_read_is_named_as_a_source() -> None:
    sources = " ".join(metric.source for metric in metrics.ALL)
    listed = {int(number) for number in re.findall(r"\b\d+\b", sources)}
    for low, high in re.findall(r"\b(\d+) to (\d+)\b", sources):
        listed |= set(range(int(low), int(high) + 1))
    read = {source.field.id for source in SOURCES.values() if isinstance(source, FieldOf)}
    assert read - listed == set()


def test_a_metric_in_a_unit_says_so_in_the_list() -> None:
    assert {metric.name for metric in metrics.ALL if "rpm" in metric.name and not unit(metric.name)} == set()

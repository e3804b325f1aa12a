"""The page about the GPU exporter says what the code does."""

import re
from pathlib import Path

from exporters.gpu.collectors import COLLECTORS

PAGE = Path(__file__).parents[2] / "docs" / "gpu-exporter.md"


def test_every_collector_is_in_the_table_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (on|off) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(name, "on" if collector.on else "off") for name, collector in COLLECTORS.items()]

"""The soaks run for SOAK_SECONDS and skip without it, under REQUIRE_ALL=1 too: `make soak` asks for them."""

import os
import sys
from pathlib import Path

import pytest

# The hostile server lives beside the probe exporter's tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "probe"))

SECONDS = float(os.environ.get("SOAK_SECONDS") or 0)
# For the quiet times before and after the storm, on a busy machine.
MORE_SECONDS = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("soak") is None:
            continue
        item.add_marker(pytest.mark.timeout(SECONDS + MORE_SECONDS))
        if not SECONDS:
            item.add_marker(pytest.mark.skip(reason="SOAK_SECONDS is not set; make soak sets it"))


@pytest.fixture
def seconds() -> float:
    """Return for how long to soak."""
    return SECONDS

"""What is recorded of a real engine under load is what its clients saw."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.live_compare import compare, llamacpp

pytestmark = [pytest.mark.tool("prometheus"), pytest.mark.timeout(900)]


def test_what_is_recorded_of_the_demos_engine_is_what_its_clients_saw(
    tool: Callable[[str], Path], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with llamacpp(tmp_path) as engine:
        compared = compare(tool("prometheus"), tmp_path, engine)
    for one in compared:
        record_property(one.what, f"{one.recorded:.4g} recorded, {one.seen:.4g} seen")
    assert [one for one in compared if not one.ratio.holds] == []
    assert len(compared) >= 8

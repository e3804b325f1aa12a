"""The flow layout."""

import pytest
from grafanalib import core
from hypothesis import given
from hypothesis import strategies as st

from dashboards.layout import COLUMNS, Item, Section, flow

WIDTHS = [[24], [12, 12], [8, 8, 8], [6, 6, 6, 6], [16, 8], [4, 4, 4, 4, 4, 4]]


def items(*sizes: tuple[int, int]) -> tuple[Item, ...]:
    return tuple(Item(core.Text(title=f"{width}x{height}"), width, height) for width, height in sizes)


def positions(panels: list[core.Panel]) -> list[tuple[int, int, int, int]]:
    return [(panel.gridPos.x, panel.gridPos.y, panel.gridPos.w, panel.gridPos.h) for panel in panels]


def test_panels_flow_from_left_to_right_under_the_title_of_their_row() -> None:
    placed = flow([Section("", items((12, 4), (12, 4))), Section("Row", items((24, 8)))])
    assert positions(placed) == [(0, 0, 12, 4), (12, 0, 12, 4), (0, 4, 24, 1), (0, 5, 24, 8)]
    assert isinstance(placed[2], core.RowPanel)
    assert placed[2].title == "Row"


@given(st.lists(st.tuples(st.sampled_from(WIDTHS), st.integers(1, 12)), min_size=1, max_size=8), st.booleans())
def test_every_cell_is_taken_exactly_once(lines: list[tuple[list[int], int]], titled: bool) -> None:
    sizes = [(width, height) for widths, height in lines for width in widths]
    placed = flow([Section("Row" if titled else "", items(*sizes))])
    cells = [
        (x, y)
        for left, top, width, height in positions(placed)
        for x in range(left, left + width)
        for y in range(top, top + height)
    ]
    bottom = max(y for _, y in cells) + 1
    assert len(cells) == len(set(cells)) == COLUMNS * bottom


@pytest.mark.parametrize("sizes", [[(12, 4)], [(12, 4), (8, 4)], [(12, 4), (16, 4)], [(25, 4)]])
def test_a_line_that_is_not_24_columns_wide_is_refused(sizes: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match=r"the line of '.*' in 'Row' is \d+ columns wide, not 24"):
        flow([Section("Row", items(*sizes))])


def test_panels_of_one_line_are_equally_high() -> None:
    with pytest.raises(ValueError, match="'12x4, 12x8' in 'Row' share a line and differ in height"):
        flow([Section("Row", items((12, 4), (12, 8)))])

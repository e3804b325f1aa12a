"""A flow layout: panels fill Grafana's 24 columns from left to right, line by line, under the title of their row."""

from dataclasses import dataclass

import attr
from grafanalib import core

COLUMNS = 24


@dataclass(frozen=True)
class Item:
    """A panel with its size.

    Attributes:
        panel: The panel, without a position.
        width: In columns, 1 to 24.
        height: In units of 30 pixels and a gap.
    """

    panel: core.Panel
    width: int
    height: int


@dataclass(frozen=True)
class Section:
    """A titled row of the dashboard and the panels under it; an empty title makes no row."""

    title: str
    items: tuple[Item, ...]


def flow(sections: list[Section]) -> list[core.Panel]:
    """Return every panel, and a row for each title, at its position.

    Raises:
        ValueError: If a line of panels does not fill the 24 columns, or if its panels differ in height.
    """
    placed: list[core.Panel] = []
    top = 0
    for section in sections:
        if section.title:
            placed.append(core.RowPanel(title=section.title, gridPos=core.GridPos(h=1, w=COLUMNS, x=0, y=top)))
            top += 1
        for line in _lines(section):
            left = 0
            for item in line:
                position = core.GridPos(h=item.height, w=item.width, x=left, y=top)
                placed.append(attr.evolve(item.panel, gridPos=position))
                left += item.width
            top += line[0].height
    return placed


def _lines(section: Section) -> list[list[Item]]:
    lines: list[list[Item]] = [[]]
    for item in section.items:
        if sum(other.width for other in lines[-1]) == COLUMNS:
            lines.append([])
        lines[-1].append(item)
    for line in lines:
        titles = ", ".join(item.panel.title for item in line)
        if (width := sum(item.width for item in line)) != COLUMNS:
            raise ValueError(f"the line of {titles!r} in {section.title!r} is {width} columns wide, not {COLUMNS}")
        if len({item.height for item in line}) != 1:
            raise ValueError(f"the panels {titles!r} in {section.title!r} share a line and differ in height")
    return lines

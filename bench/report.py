"""What every bench prints: the machine, tables of figures, and the ratios that it judges."""

import math
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """A ratio and the band in which it must lie; the band's ends belong to it."""

    what: str
    value: float
    lowest: float
    highest: float

    @property
    def holds(self) -> bool:
        """Say whether it lies in its band."""
        return self.lowest <= self.value <= self.highest


def machine() -> str:
    """Return what the figures of this run belong to."""
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    cores = len(os.sched_getaffinity(0))
    return f"{platform.platform(terse=True)}, Python {platform.python_version()}, {cores} cores, load before {load}"


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose first column is text and whose others are figures."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    print(f"\n{title}")
    for line in lines:
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
        ]
        print("  " + "  ".join(cells), flush=True)


def judge(ratios: Sequence[Ratio]) -> int:
    """Print each ratio beside its band; return the exit code, 1 if one lies outside."""
    print("\nJudged")
    for ratio in ratios:
        verdict = "holds" if ratio.holds else "FAILS"
        print(f"  {verdict}  {ratio.what}: {ratio.value:.3g}, allowed {ratio.lowest:g} to {ratio.highest:g}")
    return 0 if all(ratio.holds for ratio in ratios) else 1


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value at this share of the ordered values (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]

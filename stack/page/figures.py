"""Numbers as a person reads them; `UNKNOWN` stands where there is no present value."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from stack.page.prometheus_api import Sample

UNKNOWN = "\N{EN DASH}"


@dataclass(frozen=True)
class Figure:
    """A number with its unit, a few words on where it comes from, and whether it is worse than it should be."""

    text: str = UNKNOWN
    source: str = ""
    bad: bool = False

    @property
    def known(self) -> bool:
        """Whether there is a present value."""
        return self.text != UNKNOWN


NO_FIGURE = Figure()


def finite(samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples that hold a number; a quantile over no traffic is NaN and says nothing."""
    return [one for one in samples if math.isfinite(one.value)]


def seconds(value: float) -> str:
    """0.0184 -> ``18.4 ms``; 2.345 -> ``2.35 s``."""
    if value < 0.001:
        return f"{value * 1000:.2g} ms"
    if value < 0.9995:
        return f"{value * 1000:.3g} ms" if value * 1000 < 99.95 else f"{value * 1000:.0f} ms"
    return f"{value:.3g} s" if value < 99.95 else f"{value:.0f} s"


def number(value: float) -> str:
    """0.034 -> ``0.034``; 12.34 -> ``12.3``; 45678 -> ``45,678``."""
    if value != 0 and abs(value) < 99.95:
        return f"{value:.3g}"
    return f"{value:,.0f}"


def percent(ratio: float) -> str:
    """0.034 -> ``3 %``; a trace that would round to nothing is ``<1 %``."""
    if 0 < ratio < 0.005:
        return "<1 %"
    return f"{ratio * 100:.0f} %"


def age(value: float) -> str:
    """12.3 -> ``12 s``; 200 -> ``3 min``; 9000 -> ``2 h 30 min``; 200000 -> ``2 d 7 h``."""
    whole = max(0, round(value))
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def plural(count: int, one: str, many: str = "") -> str:
    """(1, "alert") -> ``1 alert``; (2, "alert") -> ``2 alerts``."""
    return f"{count} {one if count == 1 else many or one + 's'}"

"""Values with a unit, as a person writes them: `80ms`, `2s`, `1m30s`."""

import re
from collections.abc import Callable
from decimal import Decimal

# Decimal, so that 2m34s3ms and 154003ms are the same number.
_UNITS = {"d": Decimal(86400), "h": Decimal(3600), "m": Decimal(60), "s": Decimal(1), "ms": Decimal("0.001")}
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
# Each unit at most once, the largest first, as in Prometheus.
_DURATION = re.compile("".join(rf"(?:({_NUMBER}){unit}(?![a-z]))?" for unit in _UNITS))


def parse_duration(value: object) -> float:
    """Return the seconds in a text such as ``80ms``, ``2s`` or ``1m30s``.

    Raises:
        ValueError: If the value is no text of that form, or is zero; the message says what to write.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("write a duration such as 80ms, 2s or 1m30s")
    if isinstance(value, int | float):
        raise ValueError(f"{value} has no unit; write {value}s, {value}ms or {value}m")
    parts = _DURATION.fullmatch(value)
    if not value or not parts:
        raise ValueError(f"{value[:40]!r} is not a duration; write one such as 80ms, 2s or 1m30s")
    seconds = float(
        sum(Decimal(number) * size for number, size in zip(parts.groups("0"), _UNITS.values(), strict=True))
    )
    if seconds <= 0:
        raise ValueError(f"{value[:40]!r} is zero; write a duration above 0")
    return seconds


def format_duration(seconds: float) -> str:
    """Return seconds as a person writes them, to the microsecond: 0.08 -> ``80ms``, 90 -> ``1m30s``."""
    rest = round(seconds * 1_000_000)
    parts = []
    for unit, size in _UNITS.items():
        microseconds = round(size * 1_000_000)
        if unit == "ms":
            count: float = rest / microseconds
        else:
            count, rest = divmod(rest, microseconds)
        if count:
            parts.append(f"{count:g}{unit}")
    return "".join(parts) or "0s"


def between(shortest: str, longest: str) -> Callable[[object], float]:
    """Return a `parse_duration` that also refuses what is outside these bounds."""
    least, most = parse_duration(shortest), parse_duration(longest)

    def parse(value: object) -> float:
        seconds = parse_duration(value)
        if not least <= seconds <= most:
            raise ValueError(f"{str(value)[:40]} is out of range; write a duration from {shortest} to {longest}")
        return seconds

    return parse

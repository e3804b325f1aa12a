"""Values with a unit, as a person writes them: `80ms`, `2s`, `1m30s`."""

import re
from typing import Annotated

from pydantic import BeforeValidator

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def parse_duration(value: object) -> float:
    """Return the seconds in a text such as ``80ms``, ``2s`` or ``1m30s``.

    Raises:
        ValueError: If the value is no text of that form, or is zero; the message says what to write.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("write a duration such as 80ms, 2s or 1m30s")
    if isinstance(value, int | float):
        raise ValueError(f"{value} has no unit; write {value}s, {value}ms or {value}m")
    if not _DURATION.fullmatch(value):
        raise ValueError(f"{value!r} is not a duration; write one such as 80ms, 2s or 1m30s")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value))
    if seconds <= 0:
        raise ValueError(f"{value!r} is zero; write a duration above 0")
    return seconds


Seconds = Annotated[float, BeforeValidator(parse_duration)]


def format_duration(seconds: float) -> str:
    """Return seconds as a person writes them, exactly: 0.08 -> ``80ms``, 90 -> ``1m30s``."""
    milliseconds = round(seconds * 1000)
    parts = []
    for unit in ("d", "h", "m", "s", "ms"):
        size = round(_UNITS[unit] * 1000)
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"

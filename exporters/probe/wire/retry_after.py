"""What a server asks for with Retry-After (RFC 9110, section 10.2.3)."""

import math
from email.utils import parsedate_to_datetime


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header names, as a number or as a date; None without one that can be read.

    Args:
        value: The header.
        now: Unix time.
    """
    if value is None:
        return None
    text = value.strip()
    try:
        # A number of seconds by RFC 9110; some servers send fractions.
        seconds = float(text) if text[:1].isdigit() else parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None

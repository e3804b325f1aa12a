"""Regular expressions of the configuration, run by RE2: in time linear in the text, whatever the pattern.

Python's own would let one pattern, such as ``(a+)+$``, hold up the process for good.
"""

from functools import lru_cache

import re2

LARGEST_PATTERN = 4096


@lru_cache(maxsize=256)
def pattern(text: str) -> "re2._Regexp[str]":
    """Return a compiled pattern.

    Raises:
        ValueError: If RE2 does not take it; the message says why and what to write.
    """
    if len(text) > LARGEST_PATTERN:
        raise ValueError(f"a regular expression has at most {LARGEST_PATTERN} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args else "it is not valid"
        advice = "the syntax is RE2's, as in Prometheus: without (?=...), (?<=...) and \\1"
        raise ValueError(f"this is not a regular expression: {reason}; {advice}") from None


def checked_pattern(text: str) -> str:
    """Return the text of a pattern that RE2 takes; raises ValueError."""
    pattern(text)
    return text

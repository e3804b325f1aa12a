"""JSON as its readers know it (RFC 8259)."""

import json
from typing import NoReturn


def json_value(text: str) -> object:
    """Return the value of a JSON text; raises ValueError for anything else, such as the NaN that Python would take."""
    try:
        value: object = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deep") from None
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")

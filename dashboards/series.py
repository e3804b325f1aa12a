"""Reads PromQL: which series an expression selects, with which labels, over which window and inside which function.

Not a parser: it takes text that promtool accepts, and finds what the lint rules ask about.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\[[^\]]*\]|\d[\w.]*|[A-Za-z_:][\w:]*|\S')
_NAME = re.compile(r"[A-Za-z_:][\w:]*")
_GROUPING = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_AGGREGATORS = {
    "sum", "min", "max", "avg", "count", "group", "stddev", "stdvar", "topk", "bottomk", "quantile", "count_values",
}  # fmt: skip
_WORDS = _GROUPING | _AGGREGATORS | {"and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"}


@dataclass(frozen=True)
class Selector:
    """One use of a series in an expression.

    Attributes:
        name: The series.
        labels: The label names in its braces.
        window: What stands in its square brackets, or nothing.
        within: The functions and aggregations around it, the outermost first.
    """

    name: str
    labels: tuple[str, ...]
    window: str
    within: tuple[str, ...]


def selectors(expr: str) -> list[Selector]:
    """Return every series that an expression selects, from left to right."""
    return list(_selectors(_TOKEN.findall(expr)))


def grouping_labels(expr: str) -> set[str]:
    """Return the labels named after by, on and their like."""
    words = _TOKEN.findall(expr)
    found: set[str] = set()
    for index, word in enumerate(words):
        if word in _GROUPING and words[index + 1 : index + 2] == ["("]:
            inside = words[index + 2 : words.index(")", index)]
            found |= {name for name in inside if _NAME.fullmatch(name)}
    return found


def _selectors(words: list[str]) -> Iterator[Selector]:
    calls: list[str] = []  # for each open parenthesis, what was called with it, or nothing
    pending = ""  # an aggregator whose parenthesis comes after its labels
    index = 0
    while index < len(words):
        word, following = words[index], words[index + 1] if index + 1 < len(words) else ""
        if word in _GROUPING:
            index = words.index(")", index) if following == "(" else index
        elif word in _AGGREGATORS:
            pending = word
        elif word == "(":
            calls.append(pending)
            pending = ""
        elif word == ")":
            calls.pop()
        elif _NAME.fullmatch(word) and word.lower() not in _WORDS:
            if following == "(":
                pending = word
            else:
                labels, window, index = _rest(words, index + 1)
                yield Selector(word, labels, window, tuple(filter(None, calls)))
                continue
        index += 1


def _rest(words: list[str], index: int) -> tuple[tuple[str, ...], str, int]:
    """Return the labels and the window after a series' name, and where they end."""
    labels: tuple[str, ...] = ()
    if words[index : index + 1] == ["{"]:
        end = words.index("}", index)
        labels = tuple(word for word in words[index:end] if _NAME.fullmatch(word))
        index = end + 1
    window = ""
    if index < len(words) and words[index].startswith("["):
        window = words[index][1:-1]
        index += 1
    return labels, window, index

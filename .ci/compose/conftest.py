"""Brings the stack up once for the tests of this folder, and prints what was measured."""

from collections.abc import Iterator

import pytest
from engine import engine
from stack_under_test import Stack, project

_figures: dict[str, str] = {}


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Return the project with its images made; the first test starts it."""
    with engine() as address, project(address) as made:
        _figures.update(made.figures)
        made.figures = _figures
        yield made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _figures:
        terminalreporter.section("measured")
    for name, value in _figures.items():
        terminalreporter.write_line(f"{name}: {value}")

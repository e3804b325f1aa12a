"""Brings the stack up once for the tests of this folder, and prints what was measured."""

import signal
from collections.abc import Generator, Iterator

import pytest
from engine import engine
from stack_under_test import Stack, bring_up, project

_figures: dict[str, str] = {}


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Return the project, up and with every health check passed."""
    # A termination unwinds like Ctrl-C, so that what was started is ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with engine() as address, project(address) as made:
        _figures.update(made.figures)
        made.figures = _figures
        bring_up(made)
        yield made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what the containers said last beside a failure."""
    report = yield
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.when == "call" and report.failed and stack is not None:
        report.sections.append(("containers", stack.compose("logs", "--tail", "30")))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _figures:
        terminalreporter.section("measured")
    for name, value in _figures.items():
        terminalreporter.write_line(f"{name}: {value}")

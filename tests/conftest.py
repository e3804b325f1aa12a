"""What every test may use: programs found or skipped by name, and a free port."""

import os
import signal
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from inferwatch.errors import InferwatchError
from stack.tools import PROGRAMS, ensure_tools, find_tool

# A test may be slow on a busy machine; what it may not be is wrong.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# A shell lets what it starts in the background ignore Ctrl-C, and so would every command that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

REQUIRE_ALL = os.environ.get("REQUIRE_ALL") == "1"


@cache
def _resolve(name: str) -> Path | str:
    """Return where a program is, or the sentence that says why it cannot be had; asked once per process."""
    found = find_tool(name)
    if found is None and name in PROGRAMS:
        try:
            return ensure_tools([name])[name]
        except InferwatchError as error:
            return str(error)
    return found or f"{name} is not on PATH"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the end-to-end tests: they wait for clocks, and the others run beside them."""
    items.sort(key=lambda item: "e2e" not in item.path.parts)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("tool"):
        for name in marker.args:
            found = _resolve(name)
            if isinstance(found, str):
                _skip(f"needs {name}: {found}")


def _skip(reason: str) -> NoReturn:
    if REQUIRE_ALL:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def skip() -> Callable[[str], NoReturn]:
    """Return a function that skips the test for a reason that a full run must not have, where it fails instead."""
    return _skip


@pytest.fixture(scope="session")
def tool() -> Callable[[str], Path]:
    """Return a function from the name of a program, which the test's `tool` marker holds too, to its path."""

    def find(name: str) -> Path:
        found = _resolve(name)
        assert isinstance(found, Path), found
        return found

    return find


@pytest.fixture
def free_port() -> int:
    """Return a TCP port on 127.0.0.1 that nothing held a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests measured with `record_property`, wherever they ran."""
    measured = [
        f"{name}: {value}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
    ]
    if measured:
        terminalreporter.section("measured")
        for line in measured:
            terminalreporter.write_line(line)

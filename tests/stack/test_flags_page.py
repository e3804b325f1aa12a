"""The page on configuration has every flag of every command, with its default, and no other."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from exporters.gpu.__main__ import _parser as gpu_exporter
from exporters.gpu.collectors import COLLECTORS
from exporters.probe.__main__ import _parser as probe_exporter
from stack.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "CONFIGURATION.md"


def rows(command: str) -> list[list[str]]:
    """Return the cells of the table under the heading of a command, without the quotes of code."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n### `{command}`\n")[2].partition("\n### ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip().replace("`", "") for cell in line.strip("| ").split(" | ")] for line in lines]


def default_of(action: argparse.Action) -> str:
    if action.default is argparse.SUPPRESS:
        return ""
    if action.nargs == 0:
        return "off"
    return "none" if action.default is None else str(action.default)


@pytest.mark.parametrize(
    ("command", "parser"), [("gpu-exporter", gpu_exporter()), ("probe-exporter", probe_exporter())]
)
def test_a_service_has_the_flags_of_its_table(command: str, parser: argparse.ArgumentParser) -> None:
    collectors = {f"--collector.{name}" for name in COLLECTORS}
    wanted = {
        action.option_strings[0]: default_of(action)
        for action in parser._actions
        if action.dest != "help" and not collectors & set(action.option_strings)
    }
    found = {row[0]: row[1] if len(row) > 2 else "" for row in rows(command)}
    if command == "gpu-exporter":
        assert found.pop("--collector.NAME, --no-collector.NAME") == "by collector"
    assert found == wanted


def options() -> Iterator[tuple[str, str, str]]:
    """Yield command, flag and default of each option of `inferwatch`."""
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        for parameter in command.params:
            if parameter.param_type_name != "option" or parameter.name == "help":
                continue
            shown = getattr(parameter, "show_default", None)
            if isinstance(shown, str):
                default = shown
            elif parameter.required:
                default = "required"
            elif getattr(parameter, "is_flag", False):
                default = "off"
            else:
                default = "none" if parameter.default in (None, ()) else str(parameter.default)
            yield name, max(parameter.opts, key=len), default


def test_inferwatch_has_the_flags_of_its_table() -> None:
    assert sorted(tuple(row[:3]) for row in rows("inferwatch")) == sorted(options())


def test_help_shows_no_default_that_is_none() -> None:
    for parser in (gpu_exporter(), probe_exporter()):
        text = parser.format_help()
        assert "default: None" not in text
        assert re.search(r"--log.level .*\n\s+what to log \(default: info\)", text)

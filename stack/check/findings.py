"""What a check found, and how it is printed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.text import Text

from inferwatch.printable import printable
from stack.page.figures import plural

Level = Literal["ok", "warn", "fail"]
STYLES: dict[Level, str] = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        step: What was tried, in a word.
        text: What was found.
        todo: What to do about it; empty when there is nothing to do.
    """

    level: Level
    step: str
    text: str
    todo: str = ""


def ok(step: str, text: str, todo: str = "") -> Finding:
    """Return a finding that needs no action; `todo` may still say what would matter elsewhere."""
    return Finding("ok", step, text, todo)


def warn(step: str, text: str, todo: str = "") -> Finding:
    """Return a finding that costs something but stops nothing."""
    return Finding("warn", step, text, todo)


def fail(step: str, text: str, todo: str = "") -> Finding:
    """Return a finding that keeps the target from being watched."""
    return Finding("fail", step, text, todo)


class Report:
    """Prints findings as they come, in colour on a terminal, and counts them."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._counts: dict[Level, int] = {"ok": 0, "warn": 0, "fail": 0}

    @property
    def failed(self) -> bool:
        """Whether anything failed."""
        return self._counts["fail"] > 0

    def section(self, subject: str, findings: Iterable[Finding]) -> None:
        """Print what was found about one subject, a line each."""
        self._print(Text(printable(subject), style="bold"))
        for one in findings:
            self._counts[one.level] += 1
            line = Text("  ")
            line.append(f"{one.level:<5}", STYLES[one.level])
            line.append(f"{one.step:<9} ", "dim")
            line.append(printable(one.text))
            if one.todo:
                line.append(f" -> {printable(one.todo)}", "" if one.level == "ok" else STYLES[one.level])
            self._print(line)

    def summary(self) -> None:
        """Print the counts."""
        counts = self._counts
        words = f"{counts['ok']} ok, {plural(counts['warn'], 'warning')}, {plural(counts['fail'], 'failure')}"
        self._print(Text(words, style="bold"))

    def _print(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True)

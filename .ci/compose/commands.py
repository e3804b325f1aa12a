"""Runs the commands of the compose test: each has an end, and one that fails shows what it said."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


class CommandError(Exception):
    """A command that ended with another code than 0; the text holds the end of what it said."""


def run(*command: str | Path, env: Mapping[str, str] | None = None, seconds: float = 300.0, stdin: str = "") -> str:
    """Run a command in the checkout and return what it wrote to stdout.

    Raises:
        CommandError: If it fails or takes longer than `seconds`.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            check=False,
            cwd=CHECKOUT,
            env={**os.environ, **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise CommandError(f"{' '.join(words)} took longer than {seconds:.0f} s") from None
    if done.returncode:
        raise CommandError(f"{' '.join(words)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-6000:]}")
    return done.stdout


def wait_until(what: str, condition: Callable[[], object], seconds: float) -> float:
    """Ask until the condition holds, and return how long that took.

    Raises:
        TimeoutError: If it does not hold in time; the sentence says what was last seen.
    """
    began = time.monotonic()
    while True:
        seen = condition()
        took = time.monotonic() - began
        if seen:
            return took
        if took > seconds:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s; last seen: {seen!r}")
        time.sleep(0.5)

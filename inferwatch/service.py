"""What both services share on the command line: flags in Prometheus's style, logs, signals, exit codes."""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

from inferwatch import __version__, logs
from inferwatch.errors import ConfigError, InferwatchError

log = logging.getLogger(__name__)


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Shows the defaults that there are; the usage would be a page of collectors."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        switch = action.nargs == 0 and not isinstance(action, argparse.BooleanOptionalAction)
        return action.help if action.default is None or switch else super()._get_help_string(action)


def flags(program: str, description: str, port: int) -> argparse.ArgumentParser:
    """Return a parser that holds the flags of every service of ours."""
    parser = argparse.ArgumentParser(
        prog=program,
        usage="%(prog)s [--flag=VALUE ...]",
        description=description,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--web.listen-address",
        dest="listen",
        metavar="HOST:PORT",
        default=f"127.0.0.1:{port}",
        help="where to serve /metrics; an empty host means every interface",
    )
    parser.add_argument(
        "--web.config.file",
        dest="web_config_file",
        type=Path,
        metavar="FILE",
        help="TLS and basic auth, in the format of Prometheus's exporters; without it, plain HTTP for everyone",
    )
    parser.add_argument("--log.level", dest="log_level", choices=logs.LEVELS, default="info", help="what to log")
    parser.add_argument(
        "--log.format", dest="log_format", choices=("logfmt", "json"), default="logfmt", help="how to log it"
    )
    parser.add_argument("--version", action="version", version=f"{program} {__version__}")
    return parser


class Signals:
    """Turns SIGTERM and SIGINT into the end of `wait`, and SIGHUP and others into calls on the waiting thread.

    Made on the main thread, before whatever may be interrupted starts.

    Args:
        on_hangup: What SIGHUP asks for.
        on: What further signals ask for.
    """

    def __init__(
        self,
        on_hangup: Callable[[], None] | None = None,
        on: Mapping[signal.Signals, Callable[[], None]] | None = None,
    ) -> None:
        self._answers = dict(on or {})
        if on_hangup is not None:
            self._answers[signal.SIGHUP] = on_hangup
        # Python runs a handler between two bytecodes, so a signal that comes just before a blocking call would be
        # noticed only after it. What the interpreter writes to a pipe cannot be missed.
        self._received, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _noticed) for number in (signal.SIGTERM, signal.SIGINT)}
        for number in self._answers:
            signal.signal(number, _noticed)

    def wait(self) -> None:
        """Block until SIGTERM or SIGINT, answering the others on the way; a second one then ends the process."""
        while (number := os.read(self._received, 1)[0]) not in self._before:
            self._answer(signal.Signals(number))
        log.info("stopping, since %s was received", signal.Signals(number).name)
        for again, handler in self._before.items():
            signal.signal(again, signal.SIG_DFL if handler is None else handler)

    def _answer(self, number: signal.Signals) -> None:
        answer = self._answers.get(number)
        if answer is None:
            return
        try:
            answer()
        except Exception:
            log.exception("what %s asked for failed; this process goes on as before", number.name)


def _noticed(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: that the signal has a handler makes the interpreter write it to the pipe."""


def run(main: Callable[[], int]) -> None:
    """Call `main` and exit with its code; an error of ours is printed: with 2 for a file to correct, else with 1."""
    try:
        code = main()
    except ConfigError as error:
        print(error, file=sys.stderr)  # noqa: T201 - as below
        code = 2
    except InferwatchError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the last words of a service that could not start
        code = 1
    sys.exit(code)

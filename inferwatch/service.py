"""What both services share on the command line: flags in Prometheus's style, logs, signals, exit codes."""

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

from inferwatch import __version__, logs
from inferwatch.errors import InferwatchError

log = logging.getLogger(__name__)


def flags(program: str, description: str, port: int) -> argparse.ArgumentParser:
    """Return a parser that holds the flags of every service of ours."""
    parser = argparse.ArgumentParser(
        prog=program,
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--web.listen-address",
        dest="listen",
        metavar="HOST:PORT",
        default=f"127.0.0.1:{port}",
        help="where to serve /metrics; an empty host means every interface",
    )
    parser.add_argument("--log.level", dest="log_level", choices=logs.LEVELS, default="info", help="what to log")
    parser.add_argument(
        "--log.format", dest="log_format", choices=("logfmt", "json"), default="logfmt", help="how to log it"
    )
    parser.add_argument("--version", action="version", version=f"{program} {__version__}")
    return parser


class Signals:
    """Turns SIGTERM and SIGINT into a flag to wait for, and SIGHUP into a call on the waiting thread."""

    def __init__(self, on_hangup: Callable[[], None] | None = None) -> None:
        self._stop = False
        self._hangup = False
        self._woken = threading.Event()
        self._on_hangup = on_hangup
        signal.signal(signal.SIGTERM, self._handle)
        signal.signal(signal.SIGINT, self._handle)
        if on_hangup is not None:
            signal.signal(signal.SIGHUP, self._handle)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._hangup = True
        else:
            self._stop = True
        self._woken.set()

    def wait(self) -> None:
        """Block until SIGTERM or SIGINT, answering each SIGHUP on the way."""
        while not self._stop:
            self._woken.wait()
            self._woken.clear()
            if self._hangup and self._on_hangup is not None:
                self._hangup = False
                self._on_hangup()


def run(main: Callable[[], int]) -> None:
    """Call `main` and exit with its code; an error of ours is printed as its sentence and exits with 1."""
    try:
        code = main()
    except InferwatchError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the last words of a service that could not start
        code = 1
    sys.exit(code)

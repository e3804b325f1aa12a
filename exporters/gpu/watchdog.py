"""The end of a process that can no longer do its work, so that its supervisor starts a new one.

A thread that hangs inside the driver cannot be ended by anything but the end of its process, and pynvml keeps the
library that it once loaded. In both cases waiting is of no use.
"""

import logging
import os
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

EXIT_CODE = 3
LOOK_EVERY_SECONDS = 1.0

End = Callable[[str], None]


def end_process(last_word: str) -> None:
    """Log the last word and end the process at once with `EXIT_CODE`: a clean end would wait for the hung thread."""
    log.critical("%s; ending with code %d, so that a new process is started", last_word, EXIT_CODE)
    os._exit(EXIT_CODE)


class Watchdog:
    """Ends the process when `hopeless` gives a reason.

    Args:
        hopeless: Returns why the work cannot go on at this time of the monotonic clock, or None while it does.
        end: Ends the process, with the reason as its last word.
    """

    def __init__(self, hopeless: Callable[[float], str | None], end: End = end_process) -> None:
        self._hopeless = hopeless
        self._end = end
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(LOOK_EVERY_SECONDS):
            reason = self._hopeless(time.monotonic())
            if reason is not None:
                self._end(reason)
                return

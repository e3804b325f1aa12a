"""When trying again is of no use and only a new process helps."""

import time
from collections.abc import Callable

from exporters.gpu.errors import DriverError, UnknownError
from exporters.gpu.watchdog import End

MISMATCH = "lib_rm_version_mismatch"
# A mismatch at the start is nothing that a new process cures, unless the driver is being upgraded at this moment.
MISMATCH_PATIENCE_SECONDS = 600.0
# With the pauses between them, about a minute.
UNKNOWN_TRIES = 6


class LastResort:
    """Counts failed attempts to use NVML and ends the process when it has no more chance.

    Args:
        end: Ends the process with a last word.
    """

    def __init__(self, end: End, clock: Callable[[], float] = time.monotonic) -> None:
        self._end = end
        self._clock = clock
        self._mismatch_since: float | None = None
        self._unknown = 0

    def only_a_new_process_helps(self, error: DriverError, ever_opened: bool, ever_up: bool) -> bool:
        """Take one failed attempt and return whether it was the last.

        Args:
            error: How it failed.
            ever_opened: Whether this process ever initialised NVML.
            ever_up: Whether a GPU answered in this attempt.

        A driver that was upgraded brings a new library, which pynvml does not load a second time. GPUs that all answer
        "unknown error" are those of a container that lost its devices, which only a new container has.
        """
        if ever_up:
            self._unknown = 0
        self._unknown = self._unknown + 1 if isinstance(error, UnknownError) else 0
        last_word = self._mismatch(error, ever_opened) or self._unknown_too_often(error)
        if last_word is None:
            return False
        self._end(last_word)
        return True

    def _mismatch(self, error: DriverError, ever_opened: bool) -> str | None:
        if error.name != MISMATCH:
            self._mismatch_since = None
            return None
        now = self._clock()
        if self._mismatch_since is None:
            self._mismatch_since = now
        if not ever_opened and now - self._mismatch_since < MISMATCH_PATIENCE_SECONDS:
            return None
        return (
            f"the NVIDIA driver was upgraded under this process ({error}), which keeps the library that it once "
            "loaded. If the new process says the same, reload the kernel module or reboot"
        )

    def _unknown_too_often(self, error: DriverError) -> str | None:
        if self._unknown < UNKNOWN_TRIES:
            return None
        return (
            f"no GPU has answered in {self._unknown} attempts to initialise NVML ({error}): in a container, it has "
            "lost its /dev/nvidia* devices, and only a new start of the container brings them back"
        )

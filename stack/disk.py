"""Watches the disk that a run writes to: on a full one Prometheus stores nothing and alerts go blind."""

import shutil
from collections.abc import Callable
from pathlib import Path

from stack.debs import Say

LOW_MEGABYTES = 200
# How much more there must be before it counts as room, so that the border is not reported again and again.
MARGIN_MEGABYTES = 50


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


class DiskWatch:
    """Says once when the disk under a folder gets full, and once when it has room again.

    Args:
        folder: Any folder on that disk.
        say: Told what a person should know.
        free: Returns the free bytes of the disk under a folder.
    """

    def __init__(self, folder: Path, say: Say, free: Callable[[Path], int] = _free) -> None:
        self._folder = folder
        self._say = say
        self._free = free
        self._low = False

    def look(self) -> None:
        """Look once."""
        try:
            megabytes = self._free(self._folder) // 1_000_000
        except OSError as error:
            if not self._low:
                self._say(f"the run folder {self._folder} cannot be looked at: {error}")
            self._low = True
            return
        low = megabytes < (LOW_MEGABYTES + MARGIN_MEGABYTES if self._low else LOW_MEGABYTES)
        if low and not self._low:
            self._say(
                f"only {megabytes} MB are free on the disk of {self._folder}; when it is full Prometheus stores "
                "nothing and alerts go blind: make room, or use another disk with --run-dir"
            )
        elif self._low and not low:
            self._say(f"the disk of {self._folder} has room again ({megabytes} MB)")
        self._low = low

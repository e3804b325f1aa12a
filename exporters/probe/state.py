"""Files of the state folder, replaced as a whole, so that a crash or a full disk leaves the old one."""

import contextlib
import json
import logging
import os
import platform
import secrets
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

log = logging.getLogger(__name__)

Kept = TypeVar("Kept")


def replace_file(path: Path, text: str) -> None:
    """Write a file, making its folder if needed; raises OSError and leaves the old file then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            temporary = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise


class StateFile:
    """A JSON file that a restart reads again.

    Args:
        folder: The state folder; None keeps nothing.
        name: The file's name in it.
        what: What it holds, as a sentence about it begins, e.g. ``what probes have spent today``.
    """

    def __init__(self, folder: Path | None, name: str, what: str) -> None:
        self._path = folder / name if folder is not None else None
        self._what = what
        self._saving = threading.Lock()
        self._failing = False

    def load(self, read: Callable[[Any], Kept], otherwise: str) -> Kept | None:
        """Return what `read` makes of the JSON; None without a file, or, with a line in the log, if it is broken.

        Args:
            read: Raises ValueError, OverflowError, LookupError, TypeError or AttributeError for what it did not write.
            otherwise: What happens to it then, as the end of the sentence.
        """
        if self._path is None:
            return None
        try:
            return read(json.loads(self._path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ArithmeticError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
            log.error("%s cannot be read (%s); %s %s", self._path, type(error).__name__, self._what, otherwise)
            return None

    def save(self, value: Callable[[], object]) -> bool:
        """Write what `value` returns; return False if that fails, which is logged once until it succeeds."""
        if self._path is None:
            return True
        with self._saving:
            try:
                replace_file(self._path, json.dumps(value(), indent=1) + "\n")
            except OSError as error:
                if not self._failing:
                    log.error("%s cannot be kept in %s: %s", self._what, self._path, error.strerror)
                self._failing = True
                return False
            if self._failing:
                log.info("%s is kept in %s again", self._what, self._path)
            self._failing = False
            return True


def own_seed(folder: Path | None) -> str:
    """Return what tells this prober from others: drawn once and kept in the state folder, else the machine's name."""
    file = StateFile(folder, "prober-seed.json", "what tells this prober from others")
    kept = file.load(_seed, "is drawn again")
    if kept is not None or folder is None:
        return kept or platform.node()
    drawn = secrets.token_hex(8)
    return drawn if file.save(lambda: drawn) else platform.node()


def _seed(kept: Any) -> str:
    if not isinstance(kept, str) or not kept:
        raise TypeError
    return kept

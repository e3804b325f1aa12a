"""The copy of the last good configuration in the state folder, with what the files held that it names."""

import contextlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from exporters.probe.state import StateFile

log = logging.getLogger(__name__)

# One file, so that a crash or a full disk never leaves a configuration without its prompts.
FILE_NAME = "last-good-configuration.json"
# What held the same in two.
_EARLIER_CONFIGURATION = "last-good-inferwatch.yml"
_EARLIER_TEXTS = "last-good-files.json"


class Copy(NamedTuple):
    """A configuration as text, and the texts of prompts and schemas by the path that it gives them."""

    text: str
    texts: Mapping[str, str]


class LastGood:
    """Keeps the copy.

    Args:
        folder: The state folder; None keeps none.

    Attributes:
        file: Where it is.
    """

    def __init__(self, folder: Path | None) -> None:
        self.file = folder / FILE_NAME if folder is not None else None
        self._folder = folder
        self._state = StateFile(folder, FILE_NAME, "the copy of the last good configuration")
        self._unsaved: Copy | None = None

    def load(self) -> Copy | None:
        """Return the copy; None without one, or, with a line in the log, if it is broken."""
        return self._state.load(_read, "cannot be used") or self._earlier()

    def keep(self, copy: Copy) -> None:
        """Replace the copy; what fails is logged, and tried again by `save`."""
        self._unsaved = copy
        self.save()

    def save(self) -> None:
        """Write the copy if that failed before."""
        copy = self._unsaved
        if copy is not None and self._state.save(lambda: {"configuration": copy.text, "files": dict(copy.texts)}):
            self._unsaved = None
            self._remove_earlier()

    def _earlier(self) -> Copy | None:
        if self._folder is None:
            return None
        try:
            text = (self._folder / _EARLIER_CONFIGURATION).read_text(encoding="utf-8")
            texts = self._folder / _EARLIER_TEXTS
            kept = json.loads(texts.read_text(encoding="utf-8")) if texts.exists() else {}
            return _read({"configuration": text, "files": kept})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            log.error("%s cannot be read (%s)", self._folder / _EARLIER_CONFIGURATION, type(error).__name__)
            return None

    def _remove_earlier(self) -> None:
        if self._folder is None:
            return
        for name in (_EARLIER_CONFIGURATION, _EARLIER_TEXTS):
            # One that stays is not read any more.
            with contextlib.suppress(OSError):
                (self._folder / name).unlink(missing_ok=True)


def _read(kept: Any) -> Copy:
    if not isinstance(kept["configuration"], str):
        raise TypeError
    return Copy(kept["configuration"], {str(path): str(text) for path, text in kept["files"].items()})

"""Keeps the last good configuration in force: reads the file when it changes, and a copy of it when it is broken."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from exporters.probe.last_good import FILE_NAME, Copy, LastGood
from inferwatch import strict_yaml
from inferwatch.config import Config, parse_config
from inferwatch.config.files import Files, Signature, signature
from inferwatch.config.load import when_absent
from inferwatch.errors import ConfigError

log = logging.getLogger(__name__)

_State = tuple[Signature, tuple[Signature, ...]]


class ConfigKeeper:
    """Reads the configuration and hands each good one to `apply`.

    Args:
        file: The file that the user edits.
        state_folder: Where the copy of the last good one is; None keeps none.
        apply: Takes a configuration over; must not raise.
        clock: Returns Unix time.

    Attributes:
        config: The configuration in force; None if none was ever good.
        successful: Whether the last attempt to read the file succeeded.
        loaded_at: When the configuration in force was read, in Unix time.
        from_state: Whether the configuration in force is the copy.
    """

    def __init__(
        self,
        file: Path,
        state_folder: Path | None,
        apply: Callable[[Config], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.config: Config | None = None
        self.successful = False
        self.loaded_at: float | None = None
        self.from_state = False
        self._file = file
        self._last_good = LastGood(state_folder)
        self._apply = apply
        self._clock = clock
        self._lock = threading.Lock()
        self._files = Files(file.parent)
        # The configuration's signature and those of the files that it names.
        self._read: _State = (None, ())
        self._changing: _State = (None, ())

    def start(self) -> None:
        """Read the file for the first time, or its copy if it is broken."""
        if self.reload() is not None and self.config is None:
            self._fall_back()

    def reload(self) -> ConfigError | None:
        """Read the file now; on any error what was in force stays in force, and the error is returned."""
        with self._lock:
            before = signature(self._file)
            self._files = Files(self._file.parent)
            try:
                text = strict_yaml.file_text(self._file, when_absent("--config.file"))
                config = parse_config(text, self._file.name, files=self._files)
            except ConfigError as error:
                self.successful = False
                log.error("%s", self._sentence(error))
                return error
            finally:
                self._read = self._changing = (before, self._files.as_read)
            self._take(config, from_state=False)
            self.successful = True
            log.info("%s is in force; targets: %d", self._file, len(config.targets))
            self._last_good.keep(Copy(text, self._files.texts))
            return None

    def poll(self) -> None:
        """Read the file if it, or a file that it names, has changed and lies still since the last poll.

        An editor that writes in place empties the file first, and an empty file is a valid configuration.
        """
        with self._lock:
            self._last_good.save()
        state = signature(self._file), self._files.as_now
        if state == self._read:
            self._changing = state
        elif state == self._changing:
            self.reload()
        else:
            self._changing = state

    def _take(self, config: Config, *, from_state: bool) -> None:
        self.config, self.from_state, self.loaded_at = config, from_state, self._clock()
        self._apply(config)

    def _fall_back(self) -> None:
        copy = self._last_good.load()
        if copy is None:
            log.error(
                "nothing is in force: there is no usable copy of an earlier good one; %s is read when it changes",
                self._file,
            )
            return
        try:
            config = parse_config(copy.text, f"configuration in {FILE_NAME}", files=Files(kept=copy.texts))
        except ConfigError as error:
            log.error("the copy of the last good configuration cannot be used: %s", error.problems[0])
            return
        with self._lock:
            self._take(config, from_state=True)
        log.warning("the copy of the last good configuration is in force: %s", self._last_good.file)

    def _sentence(self, error: ConfigError) -> str:
        more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
        stays = "" if self.config is None else "; the last good configuration stays in force"
        return f"{error.problems[0]}{more}{stays}"

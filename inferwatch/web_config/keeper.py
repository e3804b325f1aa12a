"""Keeps the last good web configuration in force while its files change."""

import logging
import threading
from pathlib import Path

from inferwatch.errors import ConfigError
from inferwatch.web_config.access import Access
from inferwatch.web_config.opening import open_access, watched_files

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
_Signature = tuple[tuple[Path, int, int, int], ...]


class WebConfigKeeper:
    """Reads the file at once, and again whenever it or a certificate has changed, from `start` until `stop`.

    A connection goes on with the context that its handshake was made with.

    Attributes:
        access: What is in force.
        successful: Whether the last attempt to read the file succeeded.

    Raises:
        ConfigError: If the file or what it names cannot be used at the start.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._files = watched_files(file)
        self._read = self._changing = self._signature()
        self.access: Access = open_access(file)
        self.successful = True
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="web-config", daemon=True)
        self._tell()

    def start(self) -> None:
        """Begin to watch the files."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def poll(self) -> None:
        """Read the files if they have changed and lie still since the last poll.

        A certificate and its key are mostly replaced one after the other, and do not fit in between.
        """
        signature = self._signature()
        if signature == self._read:
            self._changing = signature
        elif signature == self._changing:
            self._reload()
        else:
            self._changing = signature

    def _reload(self) -> None:
        self._files = watched_files(self._file)
        self._read = self._changing = self._signature()
        try:
            self.access = open_access(self._file)
        except ConfigError as error:
            self.successful = False
            log.error("%s; the last good web configuration stays in force", "; ".join(error.problems))
            return
        self.successful = True
        self._tell()

    def _tell(self) -> None:
        log.info("%s is in force: %s", self._file, self.access.summary)
        if self.access.passwords is not None and self.access.tls is None:
            log.warning("%s: passwords travel unencrypted without tls_server_config", self._file)

    def _signature(self) -> _Signature:
        return tuple(_state(file) for file in self._files)

    def _run(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            try:
                self.poll()
            except Exception:
                log.exception("the web configuration could not be looked at; what is in force stays")


def _state(file: Path) -> tuple[Path, int, int, int]:
    try:
        # stat follows links, so the swap of a mounted Kubernetes Secret is seen as another inode.
        stat = file.stat()
    except OSError:
        return file, 0, 0, 0
    return file, stat.st_mtime_ns, stat.st_ino, stat.st_size

"""XIDs from the kernel's log, which tells of some that NVML does not.

``/dev/kmsg`` gives one record at a read: ``PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT`` (Documentation/ABI/testing/
dev-kmsg of the kernel). Only root, or a process with CAP_SYSLOG, may read it where kernel.dmesg_restrict is set.
"""

import logging
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

log = logging.getLogger(__name__)

# Such as "NVRM: Xid (PCI:0000:0f:00): 79, pid=...", without "PCI:" from older drivers, with "GPU-I:05" in MIG mode.
_XID = re.compile(r"^NVRM: Xid \((?:PCI:)?([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\b[^)]*\): (\d{1,4})\b", re.I)
_RECORD = re.compile(r"^(\d+),\d+,\d+,[^;]*;(.*)$", re.S)
# The facility is above the three bits of the level; the kernel's own is 0. What a program writes there has another.
_LEVEL_BITS = 3
LARGEST_RECORD = 8192
LOOK_EVERY_SECONDS = 1.0


class Address(NamedTuple):
    """Where a GPU is on the PCI bus, without its function."""

    domain: int
    bus: int
    device: int


class LogLine(NamedTuple):
    """An XID as the log tells it."""

    address: Address
    xid: int


def address(pci_bus_id: str) -> Address | None:
    """Return the address in a text such as ``00000000:0F:00.0``, or None when it is none."""
    parsed = re.fullmatch(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})(?:\.[0-7])?", pci_bus_id, re.I)
    return Address(*(int(part, 16) for part in parsed.groups())) if parsed else None


def parse(record: str) -> LogLine | None:
    """Return the XID in a record of /dev/kmsg, or None when it holds none that the kernel wrote."""
    split = _RECORD.match(record)
    if not split or int(split[1]) >> _LEVEL_BITS:
        return None
    found = _XID.match(split[2])
    return LogLine(Address(*(int(part, 16) for part in found.groups()[:3])), int(found[4])) if found else None


class KernelLog:
    """Reads the log from now on, in a thread, and hands on each XID.

    Args:
        path: /dev/kmsg, or a file that grows in the same format.
        tell: Called with each XID, on that thread.
    """

    def __init__(self, path: Path, tell: Callable[[LogLine], None]) -> None:
        self._path = path
        self._tell = tell
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kernel-log", daemon=True)
        self.live = False

    def start(self) -> None:
        """Begin at the end of the log; what happened before is not this exporter's to count."""
        try:
            self._file = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._file, 0, os.SEEK_END)
        except OSError as error:
            log.info(
                "XIDs are not read from the kernel's log: %s cannot be read (%s); reading it needs root or CAP_SYSLOG",
                self._path,
                error.strerror,
            )
            return
        self.live = True
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            rest = ""
            while not self._stop.wait(LOOK_EVERY_SECONDS):
                rest = self._drain(rest)
        except OSError as error:
            log.warning("XIDs are no longer read from the kernel's log: %s: %s", self._path, error.strerror)
        finally:
            self.live = False
            os.close(self._file)

    def _drain(self, rest: str) -> str:
        """Read what there is; return the beginning of a line whose end is not there yet."""
        while not self._stop.is_set():
            try:
                data = os.read(self._file, LARGEST_RECORD)
            except BlockingIOError:
                return rest
            except BrokenPipeError:
                # The log is a ring: records were overwritten before they were read, and the next read goes on.
                continue
            if not data:
                return rest
            *lines, rest = (rest + data.decode(errors="replace")).split("\n")
            for line in lines:
                found = parse(line)
                if found is not None:
                    self._tell(found)
        return rest

"""Who a process belongs to, from /proc/PID/cgroup: which everybody may read and which holds no secrets."""

import re
from pathlib import Path
from typing import NamedTuple

# Docker, containerd, CRI-O and podman all name a container's cgroup by its id.
_CONTAINER = re.compile(r"(?:^|[/:-])([0-9a-f]{64})(?:\.scope)?(?:/|$)")
_UNIT = re.compile(r"/([^/]{1,200}\.(?:service|scope))(?=/|$)")
# As `docker ps` and `crictl ps` show it.
SHOWN_DIGITS = 12
# The first kernel thread: process 2 of the host's PID namespace, and of no other.
KERNEL_THREAD = "kthreadd"


class Owner(NamedTuple):
    """The container or the systemd unit of a process; empty where there is none or it cannot be told."""

    container: str
    unit: str


NOBODY = Owner("", "")


class Processes:
    """The processes under one /proc, by their id in the host's PID namespace.

    Args:
        proc: Where the host's /proc is mounted.
    """

    def __init__(self, proc: Path) -> None:
        self._proc = proc

    def sees_host(self) -> bool:
        """Return whether the ids here are the host's, so that an id that is not here is no process."""
        return _text(self._proc / "2" / "comm").strip() == KERNEL_THREAD

    def living(self, pid: int) -> bool:
        """Return whether there is such a process."""
        return (self._proc / str(pid)).exists()

    def owner(self, pid: int) -> Owner:
        """Return whose process it is."""
        return parse(_text(self._proc / str(pid) / "cgroup"))


def parse(text: str) -> Owner:
    """Return the owner that the lines of a cgroup file name; the innermost container or unit counts."""
    paths = [line.split(":", 2)[2] for line in text.splitlines() if line.count(":") >= 2]
    for path in paths:
        containers = _CONTAINER.findall(path)
        if containers:
            return Owner(containers[-1][:SHOWN_DIGITS], "")
    units = [unit for path in paths for unit in _UNIT.findall(path)[-1:]]
    return Owner("", units[0]) if units else NOBODY


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

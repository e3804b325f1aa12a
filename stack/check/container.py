"""Where the check runs and who listens where: what a container can reach is not what its host can."""

import ipaddress
from collections.abc import Iterable
from pathlib import Path

import psutil

HOST_ALIAS = "host.docker.internal"
_MARKERS = (".dockerenv", "run/.containerenv")
_CGROUPS = ("docker", "containerd", "kubepods", "libpod")


def inside_container(root: Path = Path("/")) -> bool:
    """Whether this process runs in a container of Docker, Podman or Kubernetes."""
    if any((root / marker).exists() for marker in _MARKERS):
        return True
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(word in groups for word in _CGROUPS)


def is_loopback(addresses: Iterable[str]) -> bool:
    """Whether every address is this machine's own loopback."""
    found = _parsed(addresses)
    return bool(found) and all(one.is_loopback for one in found)


def is_public(addresses: Iterable[str]) -> bool:
    """Whether any address lies on the public internet."""
    return any(one.is_global for one in _parsed(addresses))


def _parsed(addresses: Iterable[str]) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    # A link-local address of IPv6 carries its interface: fe80::1%eth0.
    return [ipaddress.ip_address(one.partition("%")[0]) for one in addresses]


def listens_on_loopback_only(port: int) -> bool | None:
    """Whether what listens on this machine's port does so on loopback only; None where that cannot be told."""
    try:
        listening = {
            one.laddr.ip
            for one in psutil.net_connections(kind="tcp")
            if one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port == port
        }
    except (psutil.Error, OSError):
        return None
    return all(ipaddress.ip_address(one).is_loopback for one in listening) if listening else None

"""Ports on loopback: which are free, and who holds those that are not."""

import socket
from collections.abc import Mapping

import psutil

from inferwatch.errors import InferwatchError

HOST = "127.0.0.1"


def require_free(ports: Mapping[str, int]) -> None:
    """Check that each service can listen on its port.

    Args:
        ports: Port by the name of the service that wants it.

    Raises:
        InferwatchError: If a port is taken or wanted twice; one sentence per port says who has it.
    """
    problems = [f"{name} needs port {port}, but {holder(port)} has it" for name, port in ports.items() if _taken(port)]
    users: dict[int, list[str]] = {}
    for name, port in ports.items():
        users.setdefault(port, []).append(name)
    problems += [f"{' and '.join(names)} cannot share port {port}" for port, names in users.items() if len(names) > 1]
    if problems:
        raise InferwatchError(
            "\n".join(problems) + "\nend what holds it, or choose others with --port NAME=PORT or --free-ports"
        )


def free_ports(count: int) -> list[int]:
    """Return that many different ports on loopback that nothing holds now."""
    listeners = [socket.socket() for _ in range(count)]
    try:
        for listener in listeners:
            listener.bind((HOST, 0))
        return [listener.getsockname()[1] for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()


def holder(port: int) -> str:
    """Return who listens on a port, e.g. ``prometheus (pid 412)``, as far as this user may see."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except (psutil.AccessDenied, OSError):
        connections = []
    pids = {
        found.pid
        for found in connections
        if found.status == psutil.CONN_LISTEN and found.laddr and found.laddr.port == port
    }
    pid = next((pid for pid in pids if pid is not None), None)
    if pid is None:
        return "a process of another user"
    try:
        return f"{psutil.Process(pid).name()} (pid {pid})"
    except psutil.Error:
        return f"pid {pid}"


def _taken(port: int) -> bool:
    with socket.socket() as listener:
        # As servers do, so that a port whose last connections are still closing counts as free.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return True
        return False

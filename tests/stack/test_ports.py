"""Who has a port."""

import os
import socket
import subprocess
import sys

import psutil
import pytest

from inferwatch.errors import InferwatchError
from stack import ports


def test_free_ports_are_different_and_free() -> None:
    found = ports.free_ports(5)
    assert len(set(found)) == 5
    ports.require_free({str(port): port for port in found})


def test_a_taken_port_names_who_has_it() -> None:
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        port = int(other.stdout.readline())
        with pytest.raises(InferwatchError) as caught:
            ports.require_free({"prometheus": port})
        other.kill()
    assert f"prometheus needs port {port}, but {psutil.Process().name()} (pid {other.pid}) has it" in str(caught.value)
    assert "--port NAME=PORT or --free-ports" in str(caught.value)


def test_a_holder_that_cannot_be_seen_is_another_users(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(kind: str) -> list[object]:
        raise psutil.AccessDenied

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert f"(pid {os.getpid()})" in ports.holder(port)
        monkeypatch.setattr(psutil, "net_connections", refuse)
        assert ports.holder(port) == "a process of another user"


def test_one_port_for_two_services_is_refused() -> None:
    port = ports.free_ports(1)[0]
    with pytest.raises(InferwatchError, match=f"page and prometheus cannot share port {port}"):
        ports.require_free({"page": port, "prometheus": port})


def test_every_taken_port_is_named_at_once() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
        pytest.raises(InferwatchError) as caught,
    ):
        ports.require_free({"page": one.getsockname()[1], "prometheus": two.getsockname()[1]})
    assert "page needs port" in str(caught.value)
    assert "prometheus needs port" in str(caught.value)

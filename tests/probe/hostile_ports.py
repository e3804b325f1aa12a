"""Ports of 127.0.0.1 that are not a server: deaf ones, and ones that say a few bytes whatever they are told."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hostile_peer import Peer
from probe_helpers import PATIENCE


@contextmanager
def deaf(backlog: int) -> Iterator[int]:
    """A port on which connections are queued and never accepted."""
    with socket.create_server(("127.0.0.1", 0), backlog=backlog) as listener:
        yield listener.getsockname()[1]


@contextmanager
def queued(port: int) -> Iterator[None]:
    """Fill an accept queue, until one more connection would wait."""
    waiting = []
    try:
        for _ in range(8):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(("127.0.0.1", port))
        yield
    finally:
        for sock in waiting:
            sock.close()


@contextmanager
def answering(*pieces: bytes, reset: bool = False, hold: bool = False) -> Iterator[tuple[int, list[bytes]]]:
    """A port on which each connection is sent one of these pieces for each thing that it says, and is then closed.

    What was said is in the list. With `hold` it is not closed before the other end does it.
    """
    said: list[bytes] = []

    def serve(sock: socket.socket) -> None:
        with sock:
            sock.settimeout(PATIENCE)
            for piece in pieces:
                said.append(sock.recv(65536))
                sock.sendall(piece)
            if reset:
                Peer(sock, threading.Event()).reset()
                return
            if not hold:
                # Closing with something unread would be a reset.
                sock.shutdown(socket.SHUT_WR)
            while sock.recv(65536):
                continue

    def accept() -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError):
                serve(sock)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        yield listener.getsockname()[1], said
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()

"""A server on this machine that passes connections on, so that one in a container can stand for one on the host."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer


class _Server(ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, host: str, onward: tuple[str, int]) -> None:
        super().__init__((host, 0), _Connection)
        self.onward = onward


class _Connection(BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        with socket.create_connection(self.server.onward, timeout=60) as onward:
            back = threading.Thread(target=_copy, args=(onward, self.request), daemon=True)
            back.start()
            _copy(self.request, onward)
            back.join()


def _copy(source: socket.socket, into: socket.socket) -> None:
    """Pass bytes on until one side has no more, and say so to the other."""
    try:
        while data := source.recv(65536):
            into.sendall(data)
        into.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        into.close()


@contextmanager
def forwarding(host: str, onward: tuple[str, int]) -> Iterator[int]:
    """Listen on an address of this machine while the block runs; yield the port."""
    with _Server(host, onward) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()

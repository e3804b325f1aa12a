"""The responses of http.client made to tell when the bytes arrived that they give."""

import contextlib
import http.client
import io
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from exporters.probe.kernel_stamps import SPACE, arrived_at
from exporters.probe.receiver import RECEIVER, Inbox, Piece

READ_SIZE = 1 << 16
# The largest record of TLS (RFC 8446, section 5.2) with its head.
_RECORD_SIZE = (1 << 14) + 256 + 5


class StampedFile(io.RawIOBase):
    """What a connection sends, and when that had arrived.

    The headers are read by whoever asks for them; from `receive` on, the receiver's thread reads.

    Args:
        sock: The connection.
        file: Its own file, which keeps it open.

    Attributes:
        at: When the bytes that were given last had arrived, in seconds of `time.perf_counter`.
        earliest: Nothing can have arrived before.
        hold: Returns for how many seconds pieces may add up before they are given.
    """

    def __init__(self, sock: socket.socket, file: io.RawIOBase) -> None:
        self.at = self.earliest = time.perf_counter()
        self.hold: Callable[[], float] = float
        self._sock = sock
        self._file = file
        self._timeout = sock.gettimeout()
        self._inbox: Inbox | None = None
        self._taken: deque[Piece] = deque()

    def receive(self) -> None:
        """Have what comes from now on read and stamped at once."""
        self._sock.setblocking(False)
        read = self._read_tls if isinstance(self._sock, ssl.SSLSocket) else self._read
        self._inbox = Inbox(self._sock, read, RECEIVER)
        self._inbox.open()

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Give what one read from the connection gave; raises OSError."""
        if not self._taken:
            self._taken.extend(self._take())
        at, data = self._taken.popleft()
        if len(data) > len(buffer):
            self._taken.appendleft((at, data[len(buffer) :]))
            data = data[: len(buffer)]
        buffer[: len(data)] = data
        self.at = at
        return len(data)

    def close(self) -> None:
        """Let go of the connection, which may be used again."""
        if not self.closed:
            if self._inbox is not None:
                self._inbox.close()
                self._inbox = None
                with contextlib.suppress(OSError):
                    self._sock.settimeout(self._timeout)
            self._file.close()
        super().close()

    def _take(self) -> list[Piece]:
        if self._inbox is not None:
            return self._inbox.take(self.hold(), self._timeout)
        if not isinstance(self._sock, ssl.SSLSocket):
            return [self._read()]
        # What the kernel stamped may have been a session ticket, after which this waited for the headers.
        data = self._sock.recv(READ_SIZE)
        return [(time.perf_counter(), data)]

    def _read(self) -> Piece:
        data, ancillary, _, _ = self._sock.recvmsg(READ_SIZE, SPACE)
        self.earliest = at = arrived_at(ancillary, self.earliest)
        return at, data

    def _read_tls(self) -> Piece:
        # The stamp is that of the packets that OpenSSL reads next; it cannot tell it itself.
        _, ancillary, _, _ = socket.socket.recvmsg(self._sock, _RECORD_SIZE, SPACE, socket.MSG_PEEK)
        at = arrived_at(ancillary, self.earliest)
        data = self._sock.recv(READ_SIZE)
        self.earliest = at
        return at, data


class StampedResponse(http.client.HTTPResponse):
    """A response that reads from a StampedFile, `stamped`."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.stamped = StampedFile(sock, self.fp.detach())
        self.fp = io.BufferedReader(self.stamped, READ_SIZE)

    def _read_status(self) -> tuple[str, int, str]:
        """Skip what comes before the answer (RFC 9110, section 15.2); http.client skips a 100 and no 103."""
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 100 <= status < 200 or status == http.HTTPStatus.SWITCHING_PROTOCOLS:
                return version, status, reason
            http.client.parse_headers(self.fp)

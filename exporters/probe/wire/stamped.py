"""The responses of http.client made to tell when the bytes arrived that they give."""

import contextlib
import http.client
import io
import socket
import ssl
from collections import deque
from collections.abc import Callable
from typing import Any

from exporters.probe.wire.kernel_stamps import SPACE, arrived_at
from exporters.probe.wire.receiver import RECEIVER, Inbox, Piece

READ_SIZE = 1 << 16
# The largest record of TLS (RFC 8446, section 5.2) with its head.
_RECORD_SIZE = (1 << 14) + 256 + 5
# The receiver's thread alone reads into it. A read into bytes of this size, cut to what came, would leave a hole of the
# same size in the heap for each token.
_READ = memoryview(bytearray(READ_SIZE))


class StampedFile(io.RawIOBase):
    """What a connection sends, and when that had arrived; the receiver's thread reads it.

    Args:
        sock: The connection.
        file: Its own file, which keeps it open.
        earliest: Nothing can have arrived before, in seconds of `time.perf_counter`.

    Attributes:
        at: When the bytes that were given last had arrived.
        exact: Whether the kernel stamped all that was given.
        ended_at: When the other side had ended the connection, if it did.
        hold: Returns for how many seconds pieces may add up before they are given.
        to_come: How many bytes end the body, where that is known; they are not held back.
    """

    def __init__(self, sock: socket.socket, file: io.RawIOBase, earliest: float) -> None:
        self.at = self._latest = earliest
        self.exact = True
        self.ended_at: float | None = None
        self.hold: Callable[[], float] = float
        self.to_come: int | None = None
        self._waits = False
        self._sock = sock
        self._file = file
        self._timeout = sock.gettimeout()
        self._taken: deque[Piece] = deque()
        sock.setblocking(False)
        read = self._read_tls if isinstance(sock, ssl.SSLSocket) else self._read
        self._inbox: Inbox | None = Inbox(sock, read, RECEIVER)
        self._inbox.open()

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Give what one read from the connection gave; raises OSError."""
        if not self._taken:
            if self._inbox is None:
                raise ValueError("I/O operation on closed file")
            self._waits = True
            try:
                self._taken.extend(self._inbox.take(self.hold(), self._timeout, self.to_come))
            finally:
                self._waits = False
        piece = self._taken.popleft()
        data = piece.data
        if len(data) > len(buffer):
            self._taken.appendleft(piece._replace(data=data[len(buffer) :]))
            data = data[: len(buffer)]
        buffer[: len(data)] = data
        if data:
            self.at = piece.at
            self.exact = self.exact and piece.exact
        else:
            self.ended_at = piece.at
        return len(data)

    def waiting(self) -> bool:
        """Say whether all that came was read, and its reader waits for more."""
        inbox = self._inbox
        return self._waits and inbox is not None and inbox.empty

    def close(self) -> None:
        """Let go of the connection, which may be used again."""
        if self._inbox is not None:
            self._inbox.close()
            self._inbox = None
            with contextlib.suppress(OSError):
                self._sock.settimeout(self._timeout)
            self._file.close()
        super().close()

    def _read(self) -> Piece:
        count, ancillary, _, _ = self._sock.recvmsg_into([_READ], SPACE)
        self._latest, exact = arrived_at(ancillary, self._latest)
        return Piece(self._latest, bytes(_READ[:count]), exact)

    def _read_tls(self) -> Piece:
        # OpenSSL cannot tell the stamp of the packets that it reads, so they are looked at before.
        _, ancillary, _, _ = socket.socket.recvmsg_into(self._sock, [_READ[:_RECORD_SIZE]], SPACE, socket.MSG_PEEK)
        at, exact = arrived_at(ancillary, self._latest)
        # It may be a session ticket, or a part of a record; then this raises, and the stamp is forgotten.
        count = self._sock.recv_into(_READ)
        self._latest = at
        return Piece(at, bytes(_READ[:count]), exact)


class StampedResponse(http.client.HTTPResponse):
    """A response that reads from a StampedFile, `stamped`."""

    def read_piece(self) -> bytes:
        """Return what one read gives of a body that is not compressed; it is closed at the end.

        urllib3's `read1` does the same and takes three times as long.

        Raises:
            IncompleteRead: If the body was announced as longer, or its framing is broken.
            OSError: If the connection broke.
        """
        self.stamped.to_come = self.length
        data = self.read1(READ_SIZE)
        if self.length == 0:
            self.close()
        elif not data and self.length is not None:
            raise http.client.IncompleteRead(b"", self.length)
        return data

    def __init__(self, sock: socket.socket, *args: Any, earliest: float, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.stamped = StampedFile(sock, self.fp.detach(), earliest)
        self.fp = io.BufferedReader(self.stamped, READ_SIZE)

    def _read_status(self) -> tuple[str, int, str]:
        """Skip what comes before the answer (RFC 9110, section 15.2); http.client skips a 100 and no 103."""
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 100 <= status < 200 or status == http.HTTPStatus.SWITCHING_PROTOCOLS:
                return version, status, reason
            http.client.parse_headers(self.fp)

"""One thread that takes what comes on every connection and stamps it; who reads it may be late.

A thread for each stream would have to be scheduled, and to get hold of the interpreter, for every token. This one reads
and stamps; the thread of a probe takes what has come some times a second, so that parsing holds up no stamp.
"""

import contextlib
import math
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

# Nothing more is read of a connection while so much waits to be taken.
LARGEST_QUEUE = 1 << 20
# While much comes and the kernel stamps it, it is read this often: to wake for each token would take more time than
# all else. Two tokens of one stream that come nearer to each other may get the stamp of the second.
REST_SECONDS = 0.001
# What the last piece of a chunked body ends in; a body that ends otherwise is found to end a moment later.
_LAST_CHUNK = b"0\r\n\r\n"
_NOTHING_YET = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Piece(NamedTuple):
    """What one read gave, b"" at the end; when it had arrived, and whether that is the kernel's word."""

    at: float
    data: bytes
    exact: bool


Read = Callable[[], Piece]


class Inbox:
    """What one connection sent and nobody has taken yet; its socket must not block.

    Args:
        sock: The connection.
        read: Reads once from it.
        receiver: The thread that is to call it.
    """

    def __init__(self, sock: socket.socket, read: Read, receiver: "Receiver") -> None:
        self._sock = sock
        self._read = read
        self._receiver = receiver
        self._lock = threading.Lock()
        self._pieces: list[Piece] = []
        self._queued = 0
        self._ended: Piece | Exception | None = None
        self._watched = False
        self._closed = False
        self._ready = threading.Event()
        self._wanted_at = 0.0
        self._enough = math.inf

    def open(self) -> None:
        """Begin to receive."""
        with self._lock:
            self._watch()

    def close(self) -> None:
        """Receive no more; when this returns, nothing of this object uses the socket."""
        with self._lock:
            self._closed = True
            self._unwatch()

    @property
    def empty(self) -> bool:
        """Whether nothing waits to be taken, neither bytes nor the end."""
        return not self._pieces and self._ended is None

    def take(self, hold: float, timeout: float | None, enough: int | None = None) -> list[Piece]:
        """Return what has come and was not taken; the last piece of all is empty.

        Args:
            hold: If nothing has come yet, let it add up for so many seconds, unless the body ends before.
            timeout: How long to wait for anything at all.
            enough: So many bytes are given at once, whatever `hold` says.

        Raises:
            TimeoutError: If nothing came.
            OSError: If the connection broke.
        """
        self._ready.clear()
        self._enough = math.inf if enough is None else enough
        if self.empty:
            self._wait(hold, timeout)
        with self._lock:
            pieces, self._pieces = self._pieces, []
            self._queued = 0
            self._watch()
            if pieces:
                return pieces
            if isinstance(self._ended, Exception):
                raise self._ended
            if self._ended is not None:
                return [self._ended]
        raise TimeoutError("timed out")

    def _wait(self, hold: float, timeout: float | None) -> None:
        if hold > 0:
            self._wanted_at = time.perf_counter() + hold
            if self._ready.wait(hold):
                return
        self._wanted_at = 0.0
        # What came before that line did not set the event.
        if self.empty:
            self._ready.wait(timeout)

    def receive(self) -> bool:
        """Read what has come, for the receiver's thread; return whether its stamp is exact, however late this is."""
        with self._lock:
            if not self._watched:
                return True
            try:
                piece = self._read()
            except _NOTHING_YET:
                return True
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the end of this connection alone
                self._end(error)
                return True
            if not piece.data:
                self._end(piece)
                return True
            self._pieces.append(piece)
            self._queued += len(piece.data)
            if self._queued > LARGEST_QUEUE:
                self._unwatch()
                self._ready.set()
            elif piece.at >= self._wanted_at or self._queued >= self._enough or piece.data.endswith(_LAST_CHUNK):
                self._ready.set()
            return piece.exact

    def _end(self, how: Piece | Exception) -> None:
        self._unwatch()
        self._ended = how
        self._ready.set()

    def _watch(self) -> None:
        if not self._watched and self._ended is None and not self._closed:
            self._watched = True
            self._receiver.watch(self._sock, self)

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            self._receiver.unwatch(self._sock)


class Receiver:
    """The thread; it starts with the first connection and lasts as long as the process."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, sock: socket.socket, inbox: Inbox) -> None:
        """Call `inbox.receive` whenever something has come."""
        with self._lock:
            # Should it ever die, later probes are not to blame their servers for it.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="probe-receiver", daemon=True)
                self._thread.start()
        self._selector.register(sock, selectors.EVENT_READ, inbox)

    def unwatch(self, sock: socket.socket) -> None:
        """Do so no more."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(sock)

    def _run(self) -> None:
        woke, busy = 0.0, False
        while True:
            if busy:
                time.sleep(REST_SECONDS)
            found = self._selector.select(0 if busy else None)
            now = time.perf_counter()
            stamped = [key.data.receive() for key, _ in found]
            busy = all(stamped) and (len(found) > 1 or now - woke < REST_SECONDS)
            woke = now


# One for the process.
RECEIVER = Receiver()

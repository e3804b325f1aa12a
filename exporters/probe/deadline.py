"""A limit on a whole request that really interrupts it.

The timeouts of requests and urllib3 are per read, so a server that drips a byte now and then never meets them.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType

_running: set["Deadline"] = set()
_running_lock = threading.Lock()


class Deadline:
    """Interrupts what the request waits for when the time is up, from another thread; a context manager.

    Args:
        seconds: The time from now until then.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.passed = False
        self._at = time.perf_counter() + seconds
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._interrupt: Callable[[], None] | None = None
        self._timer: threading.Timer | None = None
        self._closed = False

    def __enter__(self) -> "Deadline":
        with _running_lock:
            _running.add(self)
        self._start(self.remaining())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _running_lock:
            _running.discard(self)
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            self._release()

    def remaining(self) -> float:
        """Return the seconds that are left, at least a millisecond, so that it can be a socket's timeout."""
        return max(self._at - time.perf_counter(), 0.001)

    def guard(self, interrupt: Callable[[], None]) -> None:
        """Call `interrupt` when the time is up, instead of what was guarded before."""
        with self._lock:
            self._release()
            self._interrupt = interrupt
            if self.passed:
                interrupt()

    def guard_socket(self, sock: socket.socket) -> None:
        """Shut this connection down when the time is up, which ends whatever waits on it."""
        # A duplicate, because wrapping a socket in TLS detaches the object that was guarded.
        duplicate = sock.dup()

        def shut_down() -> None:
            # The peer may have closed it already.
            with contextlib.suppress(OSError):
                duplicate.shutdown(socket.SHUT_RDWR)

        self.guard(shut_down)
        self._socket = duplicate

    def tighten(self, seconds: float) -> None:
        """Let the time be up after these seconds, if that is earlier."""
        with self._lock:
            if self._closed or self.passed or seconds >= self.remaining():
                return
            if self._timer is not None:
                self._timer.cancel()
        self._at = time.perf_counter() + seconds
        self._start(seconds)

    def expire(self) -> None:
        """Let the time be up now."""
        with self._lock:
            if self._closed:
                return
            self.passed = True
            self._at = time.perf_counter()
            if self._interrupt is not None:
                self._interrupt()

    def _start(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self.expire)
        self._timer.daemon = True
        self._timer.name = "probe-deadline"
        self._timer.start()

    def _release(self) -> None:
        self._interrupt = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def expire_all() -> None:
    """Interrupt every request that runs now, so that the process can end."""
    with _running_lock:
        running = list(_running)
    for deadline in running:
        deadline.expire()

"""A limit on a whole request that really interrupts it.

The timeouts of requests and urllib3 are per read, so a server that drips a byte now and then never meets them.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType

# What came is looked at before a limit counts as reached; this often it is asked whether that is done.
LOOK_AGAIN_SECONDS = 0.01
_running: set["Deadline"] = set()
_running_lock = threading.Lock()


class Deadline:
    """Interrupts what the request waits for when its time is up, from another thread; a context manager.

    Beside the deadline itself there may be one shorter limit that moves on as the answer comes (`limit`).

    Args:
        seconds: The time from now until then.

    Attributes:
        seconds: The time that was given.
        passed: Whether the time is up.
        passed_at: When it was, in seconds of `time.perf_counter`; None before.
        passed_limit: The seconds of the shorter limit, if that is what was reached.
        waiting: Says whether all that came was looked at and more is waited for; the limit is not reached before,
            the deadline is.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.passed = False
        self.passed_at: float | None = None
        self.passed_limit: float | None = None
        self.waiting: Callable[[], bool] = _always
        self._at = time.perf_counter() + seconds
        # The limit: when it is reached, and its seconds. One tuple, so that moving it needs no lock.
        self._limit: tuple[float, float] | None = None
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._interrupt: Callable[[], None] | None = None
        self._wake = threading.Event()
        self._waits_until = self._at
        self._closed = False

    def __enter__(self) -> "Deadline":
        with _running_lock:
            _running.add(self)
        try:
            threading.Thread(target=self._watch, name="probe-deadline", daemon=True).start()
        except BaseException:
            # Where no thread can be started, nobody leaves what was not entered.
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _running_lock:
            _running.discard(self)
        with self._lock:
            self._closed = True
            self._release()
        self.waiting = _always
        self._wake.set()

    def remaining(self) -> float:
        """Return the seconds that are left, at least a millisecond, so that it can be a socket's timeout."""
        return max(self._at - time.perf_counter(), 0.001)

    @property
    def passed_after(self) -> float | None:
        """The seconds of what was reached, the limit or the deadline; None while neither was."""
        if not self.passed:
            return None
        return self.seconds if self.passed_limit is None else self.passed_limit

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

    def limit(self, seconds: float | None, since: float | None = None) -> None:
        """Let the time be up these seconds after `since` (now) as well, instead of at the limit before; None ends it.

        Cheap enough to be called for each token: the thread that waits is woken only to wait for less.
        """
        if seconds is None:
            self._limit = None
            return
        at = (time.perf_counter() if since is None else since) + seconds
        self._limit = (at, seconds)
        if at < self._waits_until:
            self._wake.set()

    def until_limit(self) -> float:
        """Return the seconds until the shorter limit, or the deadline if that is nearer; below zero behind it."""
        limit = self._limit
        return (self._at if limit is None else min(self._at, limit[0])) - time.perf_counter()

    def tighten(self, seconds: float) -> None:
        """Let the time be up after these seconds, if that is earlier."""
        if seconds < self.remaining():
            self._at = time.perf_counter() + seconds
            self._wake.set()

    def expire(self) -> None:
        """Let the time be up now."""
        self._expire(None)

    def _watch(self) -> None:
        while True:
            limit = self._limit
            self._waits_until = self._at if limit is None else min(self._at, limit[0])
            # A limit that moved nearer before this line is seen here, one that moves after it sets the event.
            if limit is not self._limit:
                continue
            now = time.perf_counter()
            left = self._waits_until - now
            if left <= 0:
                reached = limit[1] if limit is not None and limit[0] < self._at else None
                if reached is None or self.waiting():
                    self._expire(reached)
                    return
                if now >= self._at:
                    self._expire(None)
                    return
                left = min(LOOK_AGAIN_SECONDS, self.remaining())
            if self._wake.wait(left):
                self._wake.clear()
                if self._closed:
                    return

    def _expire(self, limit: float | None) -> None:
        with self._lock:
            if self._closed or self.passed:
                return
            self.passed_limit = limit
            self.passed = True
            self._at = self.passed_at = time.perf_counter()
            if self._interrupt is not None:
                self._interrupt()

    def _release(self) -> None:
        self._interrupt = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _always() -> bool:
    return True


def expire_all() -> None:
    """Interrupt every request that runs now, so that the process can end."""
    with _running_lock:
        running = list(_running)
    for deadline in running:
        deadline.expire()

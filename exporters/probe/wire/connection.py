"""Making one connection, and noting when each phase of it and of the request began and ended.

The clock of TTFT starts at `sending_at`, when the connection is made: DNS, TCP and TLS are phases of their own.
"""

import contextlib
import errno
import ipaddress
import os
import socket
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from exporters.probe.wire.deadline import Deadline
from exporters.probe.wire.exchanged import Exchanged
from exporters.probe.wire.kernel_stamps import ask_for_stamps
from exporters.probe.wire.resolver import Address, resolve_within
from exporters.probe.wire.stamped import StampedResponse

if TYPE_CHECKING:
    from exporters.probe.wire.session import KeptConnection

# What a machine without IPv6 says of such an address; why another address did not answer tells more.
_NO_WAY_THERE = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.ENETUNREACH)
# How far behind the deadline the timeout of a single read lies.
NET_SECONDS = 5.0


class Recorder:
    """What one connection did and when, in seconds of `time.perf_counter`.

    Args:
        deadline: What interrupts it.
        first_token_within: A shorter limit on the time from the start of sending; the reader of the answer moves it on.

    Attributes:
        stage: What it is doing now: dns, tcp, tls, send or headers.
        began_at: When it was made.
        phases: How long each finished phase took, by metrics.PHASES; an address that needs no resolving has no dns.
        sending_at: When sending the request began.
        headers_at: When the status and headers had come.
        error: What broke the connection before it was made.
        source: What the answer is read from, once it comes.
        kept: The connection that is used again, where the scenario wants that.
        reused: Whether the request was sent on a connection that an earlier one had made.
        exchanges: Where each request is noted for a person who asks to see it; mostly None.
    """

    def __init__(self, deadline: Deadline, first_token_within: float | None = None) -> None:
        self.deadline = deadline
        self._first_token_within = first_token_within
        self.stage = "dns"
        self.phases: dict[str, float] = {}
        self.sending_at: float | None = None
        self.headers_at: float | None = None
        self.error: OSError | None = None
        self.source: StampedResponse | None = None
        self.kept: KeptConnection | None = None
        self.reused = False
        self.exchanges: list[Exchanged] | None = None
        self.began_at = self._since = time.perf_counter()

    def begin(self, stage: str) -> float:
        """Note that a stage begins, and return when."""
        self.stage = stage
        self._since = time.perf_counter()
        return self._since

    def resume(self, stage: str) -> None:
        """Note that a finished stage goes on; its time is added to what it took so far."""
        self.stage = stage
        self._since = time.perf_counter() - self.phases.get(stage, 0.0)

    def begin_sending(self) -> None:
        """Note that sending the request begins, on a connection that is made."""
        self.sending_at = self.begin("send")
        self.deadline.limit(self._first_token_within, self.sending_at)

    def end(self, at: float | None = None) -> float:
        """Note that the stage was over `at` (now), and return when."""
        at = time.perf_counter() if at is None else at
        # The kernel may have stamped the answer before this thread had noted that the request was sent.
        self.phases[self.stage] = max(at - self._since, 0.0)
        return at

    def hear_headers(self) -> None:
        """Note that the status and headers have come."""
        self.headers_at = self.end(self.source.stamped.at if self.source is not None else None)

    def reuse(self, sock: socket.socket) -> None:
        """Note that a connection is used again, which from now on this deadline interrupts."""
        self.reused = True
        sock.settimeout(self.deadline.remaining() + NET_SECONDS)
        # A connection wrapped in TLS cannot be duplicated as such.
        with socket.socket(fileno=os.dup(sock.fileno())) as plain:
            self.deadline.guard_socket(plain)

    def dial(self, host: str, port: int, options: Iterable[tuple[int, int, int | bytes]]) -> socket.socket:
        """Resolve and connect; raises OSError."""
        try:
            addresses = self._resolve(host, port)
            self.begin("tcp")
            sock = self._connect(addresses, options)
            self.end()
        except OSError as error:
            self.error = error
            raise
        return sock

    def _resolve(self, host: str, port: int) -> list[Address]:
        with contextlib.suppress(ValueError):
            # An address is not resolved, so that phase is absent rather than a few microseconds.
            ipaddress.ip_address(host)
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        self.begin("dns")
        addresses = resolve_within(host, port, self.deadline)
        self.end()
        return addresses

    def _connect(self, addresses: list[Address], options: Iterable[tuple[int, int, int | bytes]]) -> socket.socket:
        failed: OSError | None = None
        for position, (family, kind, protocol, _, address) in enumerate(addresses):
            sock = None
            try:
                sock = socket.socket(family, kind, protocol)
                for option in options:
                    sock.setsockopt(*option)
                # An address that swallows packets must leave time for the others.
                ask_for_stamps(sock)
                sock.settimeout(self.deadline.remaining() / (len(addresses) - position))
                self.deadline.guard_socket(sock)
                sock.connect(address)
            except OSError as error:
                if sock is not None:
                    sock.close()
                if failed is None or error.errno not in _NO_WAY_THERE:
                    failed = error
            else:
                # From here on the deadline interrupts; the timeout of a single read is the net below it.
                sock.settimeout(self.deadline.remaining() + NET_SECONDS)
                return sock
        raise failed or OSError("the name has no address")

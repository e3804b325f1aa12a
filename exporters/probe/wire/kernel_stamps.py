"""When bytes arrived, by the kernel's word: Linux stamps each packet as it comes (SO_TIMESTAMPNS, socket(7)).

A read tells when this process got around to it, which on a busy machine is milliseconds later. Where the kernel gives
no stamp (other systems, some sandboxes) the time of the read stands.
"""

import contextlib
import socket
import struct
import sys
import time
from collections.abc import Iterable

# <asm-generic/socket.h>; the socket module does not name it.
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@ll")
SPACE = socket.CMSG_SPACE(_TIMESPEC.size)
# Two clocks read one after the other are apart by what the thread lost in between; then they are read again.
_TOGETHER_SECONDS = 2e-5
_TRIES = 3
# A stamp may lie so much outside what is possible; more means that somebody set the clock.
_TOLERANCE_SECONDS = 1e-3

Ancillary = Iterable[tuple[int, int, bytes]]


def ask_for_stamps(sock: socket.socket) -> None:
    """Have the kernel stamp what this connection receives, if it can."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def arrived_at(ancillary: Ancillary, earliest: float) -> tuple[float, bool]:
    """Return when the last of the bytes just read arrived, and whether that is the kernel's word; else it is now.

    The time is in seconds of `time.perf_counter`.

    Args:
        ancillary: What `recvmsg` gave beside the bytes.
        earliest: The bytes cannot have come before.
    """
    for _ in range(_TRIES):
        now, wall = time.perf_counter(), time.time_ns()
        if time.perf_counter() - now < _TOGETHER_SECONDS:
            break
    else:
        return now, False
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            stamp: float = now - (wall - seconds * 1_000_000_000 - nanoseconds) / 1e9
            if earliest - _TOLERANCE_SECONDS <= stamp <= now + _TOLERANCE_SECONDS:
                return min(max(stamp, earliest), now), True
    return now, False

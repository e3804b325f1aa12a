"""The C library's heap, kept as small as what is in use."""

import contextlib
import ctypes

# <malloc.h>
_M_ARENA_MAX = -8
_ARENAS = 2


def share_heaps() -> None:
    """Let all threads share two heaps.

    glibc gives threads heaps of their own, and each keeps what was freed in it: with 64 probes at a time that was more
    than all that is in use. Another C library has no such knob, and none of these heaps.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)

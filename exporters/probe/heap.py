"""The C library's heap, kept as small as what is in use."""

import contextlib
import ctypes

# <malloc.h>
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_ARENAS = 2
_LARGE = 1 << 17


def keep_heap_small() -> None:
    """Let all threads share two heaps, and give large blocks back as soon as they are free.

    glibc gives threads heaps of their own, and each keeps what was freed in it; after the first large block it takes
    larger and larger ones from there too. With 500 targets that was more than all that is in use. Another C library has
    no such knobs, and none of these heaps.
    """
    with contextlib.suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, _ARENAS)
        mallopt(_M_MMAP_THRESHOLD, _LARGE)

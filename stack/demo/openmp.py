"""OpenMP's library, which llama.cpp computes with and a freshly installed system often has not."""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

from inferwatch.errors import InferwatchError
from stack.debs import Debs, Say, available
from stack.tools import cache_folder

LIBRARY = "libgomp.so.1"
PACKAGE = "libgomp1"
VARIABLE = "LD_LIBRARY_PATH"


def loads(library: str = LIBRARY) -> bool:
    """Return whether the system's loader finds the library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def environ(cache: Path | None = None, say: Say = print, found: Callable[[], bool] = loads) -> dict[str, str]:
    """Return the variables with which the model server finds OpenMP: none where the system has it.

    Otherwise it is taken out of the distribution's package into our cache, and nothing is installed.

    Raises:
        InferwatchError: If it cannot be had, with what to install.
    """
    if found():
        return {}
    root = (cache or cache_folder()) / "openmp"
    place = _inside(root / PACKAGE)
    if place is None:
        _fetch(root, say)
        place = _inside(root / PACKAGE)
    if place is None:
        raise InferwatchError(f"the distribution's package {PACKAGE} holds no {LIBRARY}; install OpenMP by hand")
    others = os.environ.get(VARIABLE)
    return {VARIABLE: f"{place.parent}:{others}" if others else str(place.parent)}


def _inside(folder: Path) -> Path | None:
    return next(iter(folder.rglob(LIBRARY)), None)


def _fetch(root: Path, say: Say) -> None:
    by_hand = f"install it (Debian and Ubuntu: {PACKAGE}; Fedora: libgomp) and start the demo again"
    if not available():
        raise InferwatchError(f"the demo's model server needs {LIBRARY}, which this system has not; {by_hand}")
    root.mkdir(parents=True, exist_ok=True)
    try:
        Debs(root / "apt", None, say).unpack(PACKAGE, None, root / PACKAGE)
    except InferwatchError as error:
        raise InferwatchError(
            f"the demo's model server needs {LIBRARY}, which this system has not and which could not be downloaded: "
            f"{error}; {by_hand}"
        ) from None

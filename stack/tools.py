"""Finds Prometheus, promtool, Alertmanager and amtool: on PATH, in our cache, or in the distribution's packages.

`python -m stack.tools [--suite SUITE] [NAME ...]` prints where each is, downloading what is missing.
"""

import argparse
import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from inferwatch.errors import InferwatchError
from stack.debs import Debs, Say, available

Version = tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """One program: what it may be called, which packages may hold it, and how old it may be.

    Attributes:
        files: Names of the executable; Debian's Alertmanager is called prometheus-alertmanager.
        packages: Packages to look in, the first that exists is taken.
        minimum: The oldest version that our rules and configuration work with.
        depends: Names of dependencies that are unpacked beside it: files that it serves, for these are Go programs
            that need no library but the C library.
    """

    files: tuple[str, ...]
    packages: tuple[str, ...]
    minimum: Version
    depends: str | None = None


PROGRAMS = {
    # Debian's Prometheus serves its pages' scripts from other packages.
    "prometheus": Program(("prometheus",), ("prometheus",), (2, 42), "libjs-|fonts-glyphicons"),
    # Up to Debian 12 promtool is in the package prometheus.
    "promtool": Program(("promtool",), ("promtool", "prometheus"), (2, 42)),
    "alertmanager": Program(("alertmanager", "prometheus-alertmanager"), ("prometheus-alertmanager",), (0, 25)),
    "amtool": Program(("amtool",), ("prometheus-alertmanager",), (0, 25)),
}
_FROM_SOURCES = "as-installed"
# Debian's Alertmanager opens its default templates in a fixed folder, where we installed nothing. In the copy that we
# unpack, a name of the same length stands in its place: the working directory, so that the copy may lie anywhere.
_FIXED_FOLDER = b"/usr/share/prometheus/alertmanager"
_WORKING_FOLDER = b"/proc/self/cwd" + b"/." * 10


def cache_folder() -> Path:
    """Return where downloaded programs are kept: in the checkout, or in the user's cache if that is not writable."""
    checkout = Path(__file__).parents[1]
    if os.access(checkout, os.W_OK):
        return checkout / ".cache" / "tools"
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "inferwatch" / "tools"


def find_tool(name: str, suite: str | None = None, cache: Path | None = None) -> Path | None:
    """Return the program that is on PATH and new enough, else the one in the cache, else None; downloads nothing.

    A name that is not in `PROGRAMS` is looked up on PATH only. With a suite, PATH is not looked at.
    """
    program = PROGRAMS.get(name)
    if program is None:
        found = shutil.which(name)
        return Path(found) if found else None
    folder = (cache or cache_folder()) / (suite or _FROM_SOURCES)
    on_path = () if suite else (shutil.which(file) for file in program.files)
    cached = (folder / package / "usr/bin" / file for package in program.packages for file in program.files)
    candidates = (Path(place) for place in (*on_path, *cached) if place)
    return next((place for place in candidates if (version(place) or ()) >= program.minimum), None)


def ensure_tools(
    names: Iterable[str], suite: str | None = None, cache: Path | None = None, say: Say = print
) -> dict[str, Path]:
    """Return where each program is, taking those that are missing out of the distribution's packages.

    Args:
        names: Keys of `PROGRAMS`.
        suite: Take them from this suite of the distribution and not from PATH, e.g. to test a newer release.
        cache: Where to keep them; `cache_folder()` by default.
        say: Told what takes time.

    Raises:
        InferwatchError: If one cannot be had, with what to install by hand.
    """
    cache = cache or cache_folder()
    found = {name: find_tool(name, suite, cache) for name in names}
    if not all(found.values()):
        cache.mkdir(parents=True, exist_ok=True)
        # Two runs that start together must not download into each other's folder.
        with (cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            debs = Debs(cache / (suite or _FROM_SOURCES) / "apt", suite, say)
            for name in found:
                found[name] = find_tool(name, suite, cache) or _fetch(name, debs, suite, cache)
    return {name: place for name, place in found.items() if place}


def assets(tool: Path, name: str) -> Path | None:
    """Return the folder of files, such as ``web``, that a program serves when it came out of a package; else None."""
    place = tool.parents[1] / "share" / "prometheus" / name
    return place if place.is_dir() else None


@functools.cache
def version(place: Path) -> Version | None:
    """Return the version that a program of the Prometheus family prints, e.g. (2, 42, 0); None if it does not run."""
    if not place.is_file():
        return None
    try:
        done = subprocess.run([str(place), "--version"], check=False, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"version v?(\d+(?:\.\d+)+)", done.stdout + done.stderr)
    return tuple(int(part) for part in found.group(1).split(".")) if found else None


def _fetch(name: str, debs: Debs, suite: str | None, cache: Path) -> Path:
    program = PROGRAMS[name]
    oldest = ".".join(map(str, program.minimum))
    by_hand = f"install {name} {oldest} or newer (prometheus.io/download) and put it on PATH"
    if not available():
        raise InferwatchError(
            f"{name} {oldest} or newer is not on PATH, and there is no apt-get and dpkg here to take it from; {by_hand}"
        )
    try:
        package = next(package for package in program.packages if debs.has(package))
        into = cache / (suite or _FROM_SOURCES) / package
        debs.unpack(package, re.compile(program.depends) if program.depends else None, into, _make_movable)
    except StopIteration:
        where = suite or "this machine's apt sources"
        raise InferwatchError(f"there is no package {program.packages[-1]} in {where}; {by_hand}") from None
    except InferwatchError as error:
        raise InferwatchError(
            f"{name} {oldest} or newer is not on PATH and could not be downloaded: {error}; {by_hand}"
        ) from None
    version.cache_clear()
    place = find_tool(name, suite, cache)
    if place is None:
        got = next(
            (version(into / "usr/bin" / file) for file in program.files if (into / "usr/bin" / file).exists()), None
        )
        what = f"is {'.'.join(map(str, got))}, which is too old" if got else "does not run here"
        raise InferwatchError(f"the distribution's {name} {what}; {by_hand}")
    return place


def _make_movable(root: Path) -> None:
    file = root / "usr/bin/prometheus-alertmanager"
    if file.exists():
        file.write_bytes(file.read_bytes().replace(_FIXED_FOLDER, _WORKING_FOLDER))


def main() -> None:
    """Print the name and place of each program asked for, by default of all."""
    parser = argparse.ArgumentParser(prog="python -m stack.tools", description=__doc__, allow_abbrev=False)
    parser.add_argument("--suite", help="take them from this suite of the distribution, not from PATH")
    parser.add_argument("name", nargs="*", help=f"which of {', '.join(PROGRAMS)}; all by default")
    given = parser.parse_args()
    if unknown := set(given.name) - set(PROGRAMS):
        parser.error(f"{', '.join(sorted(unknown))}: not known here; choose from {', '.join(PROGRAMS)}")
    try:
        found = ensure_tools(given.name or PROGRAMS, given.suite, say=lambda line: print(line, file=sys.stderr))
    except InferwatchError as error:
        sys.exit(str(error))
    for name, place in found.items():
        print(name, place)


if __name__ == "__main__":
    main()

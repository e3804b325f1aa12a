"""Takes programs out of the distribution's packages without installing anything.

`apt-get download` and `dpkg -x` work for any user when apt gets folders of its own, so no service starts, root is not
needed and the system's package lists stay as they are.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from inferwatch.errors import InferwatchError

Say = Callable[[str], None]
# Nothing sensible takes longer on a slow line: the package lists are about 10 MB, a package about 20 MB.
_TIMEOUT = 600


def available() -> bool:
    """Return whether this machine has the programs that this module runs."""
    return all(shutil.which(program) for program in ("apt-get", "apt-cache", "dpkg"))


class Debs:
    """Package lists and downloads of one suite, kept under `folder`.

    Args:
        folder: Where the lists, the downloads and apt's own configuration are kept.
        suite: A suite of the distribution, such as ``sid``; None is what the machine's sources say.
        say: Told what takes time.
    """

    def __init__(self, folder: Path, suite: str | None, say: Say) -> None:
        self._folder = folder
        self._suite = suite
        self._say = say
        self._updated = False

    def unpack(
        self,
        package: str,
        with_depends: re.Pattern[str] | None,
        into: Path,
        finish: Callable[[Path], None] = lambda _: None,
    ) -> None:
        """Unpack a package, and those of its dependencies whose names match, so that `into` appears at once.

        Args:
            package: Name of the package.
            with_depends: Which of its dependencies to unpack too.
            into: The folder to make; one that is there is replaced.
            finish: Called with the unpacked folder before it appears at its place.

        Raises:
            InferwatchError: If apt or dpkg fails; the sentence holds what they said.
        """
        self._update()
        wanted = [package, *self._depends(package, with_depends)]
        into.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=into.parent, prefix=".new-") as scratch:
            debs, root = Path(scratch, "debs"), Path(scratch, "root")
            debs.mkdir()
            self._say(f"downloading the package {package}")
            self._apt("apt-get", "--quiet", "download", *wanted, folder=debs)
            for deb in sorted(debs.glob("*.deb")):
                _run(["dpkg", "-x", str(deb), str(root)], debs, os.environ)
            finish(root)
            if into.exists():
                shutil.rmtree(into)
            root.rename(into)

    def has(self, package: str) -> bool:
        """Return whether the suite has a package of this name."""
        self._update()
        return "Candidate: " in self._apt("apt-cache", "policy", package).replace("Candidate: (none)", "")

    def _update(self) -> None:
        if self._updated:
            return
        self._configure()
        self._say("reading the distribution's package lists" + (f" of {self._suite}" if self._suite else ""))
        self._apt("apt-get", "--quiet", "-o", "APT::Update::Error-Mode=any", "update")
        self._updated = True

    def _depends(self, package: str, pattern: re.Pattern[str] | None) -> list[str]:
        if pattern is None:
            return []
        unwanted = [
            f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
        ]
        listed = self._apt("apt-cache", "depends", "--recurse", *unwanted, package)
        names = {line for line in listed.splitlines() if not line.startswith((" ", "<"))}
        return sorted(name for name in names if pattern.match(name))

    def _configure(self) -> None:
        """Write apt's configuration: our folders, our sources, and none of the system's hooks."""
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (self._folder / folder).mkdir(parents=True, exist_ok=True)
        (self._folder / "status").touch()
        lines = ["#clear APT::Update::Pre-Invoke;", "#clear APT::Update::Post-Invoke;"]
        lines += ["#clear APT::Update::Post-Invoke-Success;"]
        settings = {
            "Dir::State": self._folder / "state",
            "Dir::State::status": self._folder / "status",
            "Dir::Cache": self._folder / "cache",
            # Root's apt would download as the user _apt, who may not read a folder in somebody's home.
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
        }
        if self._suite:
            sources = self._folder / "sources.list"
            sources.write_text(_sources_of(self._suite), encoding="utf-8")
            settings |= {"Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "/dev/null"}
        lines += [f'{key} "{value}";' for key, value in settings.items()]
        (self._folder / "settings.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
        # apt reads this file first, the system's parts next and `Dir::Etc::main` last, which is where ours must be.
        (self._folder / "apt.conf").write_text(
            f'Dir::Etc::main "{self._folder / "settings.conf"}";\n', encoding="utf-8"
        )

    def _apt(self, *command: str, folder: Path | None = None) -> str:
        environ = os.environ | {"APT_CONFIG": str(self._folder / "apt.conf"), "LC_ALL": "C.UTF-8"}
        return _run(list(command), folder or self._folder, environ)


def _sources_of(suite: str) -> str:
    """Return the machine's own archive as a source line, with another suite in place of the installed one."""
    wanted = "$(SITE)|$(RELEASE)|$(COMPONENT)|$(SOURCESENTRY)"
    listed = _run(["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"], Path("/"), os.environ)
    targets = [line.split("|") for line in listed.splitlines() if line.count("|") == 3]
    # Suites such as bookworm-security and bookworm-updates have a dash; the distribution itself has none.
    main = [target for target in targets if "-" not in target[1] and "/" not in target[1]]
    if not main:
        raise InferwatchError(
            f"cannot find the distribution's archive in apt's sources, to read the suite {suite} of it"
        )
    site, _, _, entry = main[0]
    components = " ".join(dict.fromkeys(component for place, _, component, _ in main if place == site))
    key = _signed_by(Path(entry.rpartition(":")[0]))
    return f"deb {f'[signed-by={key}] ' if key else ''}{site} {suite} {components}\n"


def _signed_by(sources: Path) -> str | None:
    """Return the keyring that a sources file names, in the one-line or the deb822 form."""
    try:
        found = re.search(r"signed-by[=:]\s*(/[^\s\]]+)", sources.read_text(encoding="utf-8"), re.IGNORECASE)
    except OSError:
        return None
    return found.group(1) if found else None


def _run(command: list[str], folder: Path, environ: os._Environ[str] | dict[str, str]) -> str:
    try:
        done = subprocess.run(
            command,
            check=False,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        raise InferwatchError(f"{_words(command)} took longer than {_TIMEOUT} s; is the network slow?") from None
    except OSError as error:
        raise InferwatchError(f"cannot run {command[0]}: {error}") from None
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[-500:]
        raise InferwatchError(f"{_words(command)} failed: {said}")
    return done.stdout


def _words(command: Sequence[str]) -> str:
    return " ".join(word for word in command if not word.startswith("-"))

"""Images that stand in for those of a registry, made of the distribution's packages.

What a stand-in shares with the original is what docker-compose.yml relies on: paths, user, entry point, volumes, and
the programs that health checks call.
"""

import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from commands import CHECKOUT, run

from stack.debs import Debs
from stack.tools import assets, ensure_tools

Docker = Callable[..., str]
CACHE = CHECKOUT / ".cache" / "compose"
NEWER_SUITE = "sid"
# What the tag of the Dockerfile's base names: Debian 12, whose Python is 3.11 too.
PYTHON_SUITE = "bookworm"
PYTHON_PACKAGES = "ca-certificates,python3,python3-pip,python3-venv"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# Weight that python:*-slim does not carry either.
UNWANTED = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale")
NOBODY = "nobody:x:65534:65534:nobody:/home:/bin/false\n"


@functools.cache
def debs() -> Debs:
    """Return the packages of the newer suite; its lists are read once."""
    return Debs(CACHE / "apt", NEWER_SUITE, print)


def plugins() -> Path:
    """Return a folder of command-line plugins with Compose and Buildx, as Debian's docker.io brings neither."""
    into = CACHE / "plugins"
    for package in ("docker-compose", "docker-buildx"):
        if not (into / package).is_file():
            debs().unpack(package, None, CACHE / package)
            into.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CACHE / package / "usr/libexec/docker/cli-plugins" / package, into / package)
    return into


def make_python(docker: Docker, tag: str) -> None:
    """Make the stand-in for python:3.11-slim: Debian with pip, and this machine's certificates and package index."""
    root = f"{tag}-root"
    docker("import", _debian(), root)
    with tempfile.TemporaryDirectory() as name:
        context = Path(name)
        shutil.copy(CERTIFICATES, context / "certificates")
        (context / "pip.conf").write_text("[global]\n" + "\n".join(_pip_settings()) + "\n", encoding="utf-8")
        (context / "Dockerfile").write_text(
            f"FROM {root}\n"
            f"COPY certificates {CERTIFICATES}\n"
            "COPY pip.conf /etc/pip.conf\n"
            # As in the original, apt keeps no cache of its own.
            'RUN echo \'Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";\' > /etc/apt/apt.conf.d/no-cache\n'
            "RUN ln -s /usr/bin/python3 /usr/local/bin/python\n",
            encoding="utf-8",
        )
        docker("build", "--tag", tag, context)


def make_prometheus(docker: Docker, tag: str) -> None:
    """Make the stand-in for prom/prometheus."""
    tools = ensure_tools(["prometheus", "promtool"], NEWER_SUITE)
    _make(docker, tag, tools, "prometheus", "/prometheus", 9090)


def make_alertmanager(docker: Docker, tag: str) -> None:
    """Make the stand-in for prom/alertmanager."""
    tools = ensure_tools(["alertmanager", "amtool"], NEWER_SUITE)
    # The copy that stack.tools unpacks reads its templates, which are inside the original, from its working folder.
    files = assets(tools["alertmanager"], "alertmanager")
    templates = sorted(files.glob("*.tmpl")) if files else []
    _make(docker, tag, tools, "alertmanager", "/alertmanager", 9093, templates)


def _make(
    docker: Docker, tag: str, tools: dict[str, Path], entry: str, data: str, port: int, files: Sequence[Path] = ()
) -> None:
    """Make an image that holds nothing but busybox, the programs, the C library and `files` in the folder of data."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "root")
        for folder in ("bin", "etc", "tmp", data.lstrip("/"), f"etc/{entry}"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy2(_busybox(), root / "bin/busybox")
        for program, place in tools.items():
            shutil.copy2(place, root / "bin" / program)
            for library in _libraries(place):
                into = root / library.relative_to("/")
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(library, into)
        for file in files:
            shutil.copy2(file, root / data.lstrip("/") / file.name)
        (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n" + NOBODY, encoding="utf-8")
        (root / "etc/group").write_text("root:x:0:\nnobody:x:65534:\n", encoding="utf-8")
        Path(name, "Dockerfile").write_text(
            "FROM scratch\n"
            "COPY root /\n"
            'RUN ["/bin/busybox", "--install", "-s", "/bin"]\n'
            f"RUN chown -R nobody:nobody /etc/{entry} {data} && chmod 1777 /tmp\n"
            "USER nobody\n"
            f"EXPOSE {port}\n"
            f"VOLUME {data}\n"
            f"WORKDIR {data}\n"
            f'ENTRYPOINT ["/bin/{entry}"]\n',
            encoding="utf-8",
        )
        docker("build", "--tag", tag, name)


def _debian() -> Path:
    """Return the archive of a small Debian with Python, made once."""
    archive = CACHE / f"{PYTHON_SUITE}-python.tar"
    if archive.is_file():
        return archive
    mirror = run("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages").split()[0]
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="inferwatch-debian-") as name:
        root = Path(name, "root")
        include = f"--include={PYTHON_PACKAGES}"
        run("debootstrap", "--variant=minbase", include, PYTHON_SUITE, root, mirror, seconds=900)
        for folder in UNWANTED:
            shutil.rmtree(root / folder)
            (root / folder).mkdir()
        draft = archive.with_suffix(".new")
        run("tar", "--create", "--file", draft, "--directory", root, ".")
        draft.rename(archive)
    return archive


def _busybox() -> Path:
    place = CACHE / "busybox-static"
    if not place.is_dir():
        debs().unpack("busybox-static", None, place)
    return next(file for file in (place / "usr/bin/busybox", place / "bin/busybox") if file.is_file())


def _libraries(program: Path) -> list[Path]:
    listed = subprocess.run(["ldd", program], check=False, capture_output=True, text=True).stdout
    return [Path(found) for found in re.findall(r"(/\S+) \(0x", listed)]


def _pip_settings() -> list[str]:
    """Return this machine's package index as lines of a pip.conf; addresses on its disk stay behind."""
    settings = {"cert": str(CERTIFICATES)}
    for line in run("python3", "-m", "pip", "config", "list").splitlines():
        key, _, value = line.partition("=")
        setting, text = key.rpartition(".")[2], value.strip("'\"")
        if setting in ("index-url", "trusted-host") and "file:" not in text:
            settings[setting] = text
    return [f"{setting} = {text}" for setting, text in settings.items()]

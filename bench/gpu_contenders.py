"""Who is compared by `bench.gpu_exporter`, and the fake library on which it runs."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.processes import exporter, running

NVITOP = "nvitop-exporter==1.7.2"
FAKE = Path(__file__).parents[1] / "tests" / "fakenvml"
GPUS = 8
PATIENCE = 120.0
PLAIN: Mapping[str, str] = {}
AS_PROMETHEUS: Mapping[str, str] = {
    "Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
    "Accept-Encoding": "gzip",
}
ONE_CALL = """
import pynvml, time
pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
began = time.process_time()
for _ in range(20000): pynvml.nvmlDeviceGetPowerUsage(gpu)
print((time.process_time() - began) / 20000)
"""


class Library:
    """The fake library, and what its GPUs are told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.control = folder / "control"
        self.calls = folder / "calls"
        library = folder / "libnvidia-ml.so.1"
        flags = ["-shared", "-fPIC", "-O2", "-fvisibility=hidden", f"-Wl,-soname,{library.name}"]
        subprocess.run(["gcc", *flags, "-o", library, *sorted(FAKE.glob("*.c")), "-lpthread"], check=True)
        self.tell("")

    def tell(self, more: str) -> None:
        """Give all GPUs the figures of an H200, and these lines."""
        new = self.control.with_suffix(".new")
        new.write_text(f"{(FAKE / 'profiles' / 'h200.control').read_text()}\ngpus {GPUS}\n{more}\n")
        new.replace(self.control)

    def environment(self, *, fixed: bool = True, counted: bool = False) -> dict[str, str]:
        """Return what makes a process load it."""
        found = {"LD_LIBRARY_PATH": str(self.folder), "FAKENVML_CONTROL": str(self.control)}
        if fixed:
            found["FAKENVML_FIXED"] = "1"
        if counted:
            found["FAKENVML_CALLS"] = str(self.calls)
        return found


@dataclass(frozen=True)
class Contender:
    """One exporter: how it is started, and by which series one sees that it works."""

    name: str
    ready: str
    nvitop: Path | None = None

    @contextmanager
    def run(self, folder: Path, environment: Mapping[str, str], *flags: str) -> Iterator[tuple[psutil.Process, str]]:
        """Run it and yield its process and base URL once it shows all GPUs."""
        with ExitStack() as stack:
            if self.nvitop is None:
                pid, url = stack.enter_context(
                    exporter("exporters.gpu", folder / "log", *flags, environment=environment)
                )
            else:
                pid, url = stack.enter_context(_nvitop(self.nvitop, folder / "log", environment, *flags))
            until(lambda: series(scrape(url, PLAIN)).count(self.ready) >= GPUS, f"{self.name} shows {GPUS} GPUs")
            yield psutil.Process(pid), url


@contextmanager
def _nvitop(program: Path, log: Path, environment: Mapping[str, str], *flags: str) -> Iterator[tuple[int, str]]:
    # It takes no port by itself.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("wb") as writing:
        command = [str(program), f"--port={port}", *flags]
        with running(command, env={**os.environ, **environment}, stdout=writing, stderr=writing) as process:
            url = f"http://127.0.0.1:{port}"
            until(lambda: _answers(url), f"nvitop-exporter listens; it said {log.read_text()}")
            yield process.pid, url


def _answers(url: str) -> bool:
    try:
        scrape(url, PLAIN)
    except OSError:
        return False
    return True


def until(condition: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > give_up:
            raise RuntimeError(f"not within {PATIENCE:g} s: {what}")
        time.sleep(0.2)


def scrape(url: str, headers: Mapping[str, str]) -> bytes:
    """Return the body of a scrape as it is sent."""
    with urllib.request.urlopen(urllib.request.Request(f"{url}/metrics", headers=dict(headers))) as answer:
        body: bytes = answer.read()
    return body


def series(body: bytes) -> list[str]:
    """Return the name of each sample of a plain body."""
    lines = body.decode().splitlines()
    return [re.split(r"[{ ]", line, maxsplit=1)[0] for line in lines if line and not line.startswith("#")]


def install_nvitop(folder: Path) -> Path:
    """Install nvitop-exporter into an environment of its own and return its program."""
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "pip", "--disable-pip-version-check", "install", "--quiet", NVITOP], check=True)
    return folder / "bin" / "nvitop-exporter"


def floor(library: Library) -> float:
    """Return the processor time of one call of NVML through pynvml, in ms."""
    command = [sys.executable, "-c", ONE_CALL]
    said = subprocess.run(command, env=library.environment(), capture_output=True, text=True, check=True)
    return 1000 * float(said.stdout)

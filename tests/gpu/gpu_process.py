"""The GPU exporter as a process of its own, and the fake NVML that it may load."""

import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_fakes import wait_until
from prometheus_client.parser import text_string_to_metric_families

from inferwatch.metric import Metric

SOURCES = Path(__file__).parent.parent / "fakenvml"


def build_fake_nvml(folder: Path, *defines: str) -> Path:
    """Compile the fake library into the folder and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libnvidia-ml.so.1"
    flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", f"-Wl,-soname,{library.name}"]
    subprocess.run(
        ["gcc", *flags, *defines, "-o", str(library), *map(str, sorted(SOURCES.glob("*.c"))), "-lpthread"], check=True
    )
    return library


class FakeNvml:
    """What the fake library is told, and which calls it has seen."""

    def __init__(self, folder: Path, library_folder: Path) -> None:
        self._control = folder / "fakenvml.control"
        self._calls = folder / "fakenvml.calls"
        self.environment = {
            "LD_LIBRARY_PATH": str(library_folder),
            "FAKENVML_CONTROL": str(self._control),
            "FAKENVML_CALLS": str(self._calls),
        }

    def tell(self, **settings: object) -> None:
        """Replace what was told before; `__` in a key stands for a dot and a leading `_` is dropped."""
        lines = [f"{key.removeprefix('_').replace('__', '.')} {value}\n" for key, value in settings.items()]
        self.copy("".join(lines))

    def copy(self, control: str) -> None:
        """Replace what was told before by this text, such as a profile's."""
        self._control.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._control.with_suffix(".new")
        fresh.write_text(control)
        fresh.rename(self._control)

    def log(self) -> list[str]:
        """Return every call so far, as FUNCTION GPU, where the GPU of the system's is -."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    def calls(self, function: str, gpu: int | None = None) -> int:
        """Return how often a function was called, on this GPU or for the system."""
        return self.log().count(f"{function} {'-' if gpu is None else gpu}")


@dataclass(frozen=True)
class Scrape:
    """What one scrape showed: a value by name and labels."""

    text: str
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]

    def value(self, metric: Metric, gpu: int | None = None, **labels: str) -> float | None:
        """Return the one value that has these labels, whatever its uuid; None when there is none."""
        if gpu is not None:
            labels["gpu"] = str(gpu)
        found = [
            value for (name, has), value in self.samples.items() if name == metric.name and has >= set(labels.items())
        ]
        assert len(found) <= 1, f"{metric}{labels} is not one series"
        return found[0] if found else None

    def series_of_gpu(self, gpu: int) -> int:
        """Return how many series one GPU has."""
        return sum(("gpu", str(gpu)) in labels for _, labels in self.samples)

    def uuid(self, gpu: int) -> str:
        """Return the uuid of the GPU at this index."""
        (found,) = {dict(labels)["uuid"] for _, labels in self.samples if ("gpu", str(gpu)) in labels}
        return found

    def of_gpu(self, gpu: int) -> set[str]:
        """Return the names of the series of one GPU."""
        return {name for name, has in self.samples if ("gpu", str(gpu)) in has}


class Exporter:
    """A running exporter; `before` is Python that its process runs first, such as what shortens a pause."""

    def __init__(self, *flags: str, environment: dict[str, str] | None = None, before: str = "") -> None:
        start = (
            ["-c", f"{before}\nfrom exporters.gpu.__main__ import main\nmain()"] if before else ["-m", "exporters.gpu"]
        )
        self._process = subprocess.Popen(
            [sys.executable, *start, "--web.listen-address=127.0.0.1:0", *flags],
            env={**os.environ, "LD_LIBRARY_PATH": "", **(environment or {})},
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        wait_until(lambda: "listening on" in self.log or self._process.poll() is not None)
        address = re.search(r"listening on (http://[0-9.:]+)", self.log)
        assert address, self.log
        self.url = address[1]

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def log(self) -> str:
        """What it has logged so far."""
        return "".join(self._lines)

    def scrape(self) -> Scrape:
        """Return what it serves now."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
        return Scrape(text, samples)

    def healthz(self) -> int:
        """Return the status of /healthz."""
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def wait_for(self, condition: Callable[[Scrape], bool]) -> Scrape:
        """Scrape until the condition holds and return that scrape."""
        last: list[Scrape] = []

        def holds() -> bool:
            last[:] = [self.scrape()]
            return condition(last[0])

        try:
            wait_until(holds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{last[0].text}\n{self.log}") from None
        return last[0]

    def send(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait until it ends by itself and return its exit code."""
        wait_until(lambda: self._process.poll() is not None)
        self._reader.join()
        return self._process.wait()

    def stop(self, with_signal: int = signal.SIGTERM) -> int:
        """End it and return its exit code."""
        if self._process.poll() is None:
            self._process.send_signal(with_signal)
        try:
            code = self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        self._reader.join()
        assert self._process.stderr
        self._process.stderr.close()
        return code

    def _read(self) -> None:
        assert self._process.stderr
        for line in self._process.stderr:
            self._lines.append(line)

"""An exporter process under watch: every scrape is checked, its resources are noted, and its end is timed."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import requests

# Far above what any machine needs.
PATIENCE = 120.0
END_WITHIN_SECONDS = 30.0
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class Resources:
    """What a process holds."""

    descriptors: int
    threads: int
    rss: int

    def __str__(self) -> str:
        return f"{self.descriptors} descriptors, {self.threads} threads, {self.rss / 1e6:.0f} MB"


@dataclass(frozen=True)
class Scrape:
    """A scrape: values by series as it is written, `name{label="value"}`."""

    values: dict[str, float]
    counted: set[str]

    def of(self, name: str, **labels: str) -> dict[str, float]:
        """Return the values of the series of this name that have these labels."""
        found = {series: value for series, value in self.values.items() if series.partition("{")[0] == name}
        return {series: value for series, value in found.items() if labels.items() <= labels_of(series).items()}

    def total(self, name: str, **labels: str) -> float:
        return sum(self.of(name, **labels).values())


def labels_of(series: str) -> dict[str, str]:
    return dict(_LABEL.findall(series))


class Watched:
    """A service of ours as a process on a free port.

    Args:
        keeps: Says of a counter's series whether it must never fall; one that may be made anew is exempt.

    Attributes:
        scrapes: How many there were; each was answered.
        peak: The most that was held at a scrape, each for itself.
    """

    def __init__(self, module: str, folder: Path, *flags: str, keeps: Callable[[str], bool] = lambda _: True) -> None:
        self.log = folder / "log"
        self.scrapes = 0
        self.peak = Resources(0, 0, 0)
        self._keeps = keeps
        self._highest: dict[str, float] = {}
        command = [sys.executable, "-m", module, "--web.listen-address=127.0.0.1:0", *flags]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.measured = psutil.Process(self.process.pid)
        self.url = until(lambda: re.search(r"listening on (http://[0-9.:]+)", self.log.read_text()), "it listens")[1]

    def scrape(self) -> Scrape:
        """Scrape, and check that no counter fell."""
        answer = requests.get(f"{self.url}/metrics", timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        self.scrapes += 1
        scrape = parse(answer.text)
        fell = {
            series: (self._highest[series], scrape.values[series])
            for series in scrape.counted
            if self._keeps(series) and scrape.values[series] < self._highest.get(series, 0.0)
        }
        assert not fell, f"{len(fell)} series fell, such as {sorted(fell.items())[:5]}"
        self._highest |= {series: scrape.values[series] for series in scrape.counted}
        now = self.resources()
        self.peak = Resources(*(max(pair) for pair in zip(vars(self.peak).values(), vars(now).values(), strict=True)))
        return scrape

    def resources(self) -> Resources:
        with self.measured.oneshot():
            return Resources(self.measured.num_fds(), self.measured.num_threads(), self.measured.memory_info().rss)

    def check_log(self) -> None:
        text = self.log.read_text()
        assert "Traceback" not in text, text[max(text.index("Traceback") - 2000, 0) :][:6000]

    def end(self) -> float:
        """End it as a supervisor does; return how long that took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0
        seconds = time.monotonic() - began
        assert seconds < END_WITHIN_SECONDS
        return seconds

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)


def parse(text: str) -> Scrape:
    """Read the text format, and which of its series count."""
    values: dict[str, float] = {}
    counted: set[str] = set()
    counting = False
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            counting = line.rpartition(" ")[2] in ("counter", "histogram", "summary")
        elif not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            assert series not in values, f"{series} is there twice"
            values[series] = float(value)
            if counting:
                counted.add(series)
    return Scrape(values, counted)


def until(condition: Callable[[], Any], what: str) -> Any:
    """Return the condition's value once it is true; fail with `what` if it never is."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError(f"not within {PATIENCE:g} s: {what}")


def check_held(warm: Resources, now: Resources) -> None:
    """Compare what an idle process holds with what it held when it had warmed up."""
    assert now.descriptors <= warm.descriptors + 8, f"{warm} -> {now}"
    assert now.rss <= 1.5 * warm.rss + 20e6, f"{warm} -> {now}"

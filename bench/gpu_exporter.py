"""Our GPU exporter beside nvitop-exporter, on the same fake library with 8 GPUs: `python -m bench.gpu_exporter`.

nvitop-exporter comes from PyPI into an environment of its own, which is thrown away at the end. Both run as processes
of their own, in turn. The fake library answers at once, so what is measured is the exporters and not a driver; what
a slow driver does is measured at the end, with one GPU whose calls hang.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from bench.processes import exporter, running
from bench.report import Ratio, judge, machine, quantile, show_table
from exporters.gpu import metrics

NVITOP = "nvitop-exporter==1.7.2"
FAKE = Path(__file__).parents[1] / "tests" / "fakenvml"
GPUS = 8
SCRAPES = 200
SETTLE_SECONDS = 5.0
COLLECTING_SECONDS = 20.0
WORKING_SECONDS = 60.0
SCRAPE_EVERY_SECONDS = 15.0
SETTLING_SCRAPES = 3
WEDGED_SECONDS = 30.0
SCRAPE_PAUSE_SECONDS = 0.1
PATIENCE = 120.0
# Both collect as often for the cost of a collection; for the cost of a working day ours keeps its default.
COLLECT_EVERY_SECONDS = 1
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


@dataclass(frozen=True)
class Cost:
    """What one exporter costs; times in ms, memory in bytes."""

    plain: list[float]
    compressed: list[float]
    cpu_plain: float
    cpu_compressed: float
    cpu_collection: float
    calls: float
    rss: int
    series: int


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
            _until(lambda: _series(scrape(url, PLAIN)).count(self.ready) >= GPUS, f"{self.name} shows {GPUS} GPUs")
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
            _until(lambda: _answers(url), f"nvitop-exporter listens; it said {log.read_text()}")
            yield process.pid, url


def _answers(url: str) -> bool:
    try:
        scrape(url, PLAIN)
    except OSError:
        return False
    return True


def _until(condition: Callable[[], bool], what: str) -> None:
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


def _series(body: bytes) -> list[str]:
    """Return the name of each sample of a plain body."""
    lines = body.decode().splitlines()
    return [re.split(r"[{ ]", line, maxsplit=1)[0] for line in lines if line and not line.startswith("#")]


def used(process: psutil.Process) -> float:
    """Return the processor time that a process has used, in ms."""
    times = process.cpu_times()
    return 1000 * float(times.user + times.system)


def at_rest(process: psutil.Process, seconds: float) -> float:
    """Return the processor time a second that a process uses while nobody scrapes it, in ms."""
    before = used(process)
    time.sleep(seconds)
    return (used(process) - before) / seconds


def scrapes(process: psutil.Process, url: str, headers: Mapping[str, str], rest: float) -> tuple[list[float], float]:
    """Scrape again and again; return the latencies and the processor time of one scrape, in ms."""
    wall = []
    began, before = time.monotonic(), used(process)
    for _ in range(SCRAPES):
        at = time.perf_counter()
        scrape(url, headers)
        wall.append(1000 * (time.perf_counter() - at))
    return wall, (used(process) - before - rest * (time.monotonic() - began)) / SCRAPES


def calls_per_cycle(contender: Contender, library: Library, *flags: str) -> float:
    """Return how many calls of NVML a collection of all GPUs makes, once it has settled."""
    library.calls.unlink(missing_ok=True)
    with contender.run(library.folder, library.environment(counted=True), *flags):
        time.sleep(SETTLE_SECONDS)
        before = library.calls.read_text().splitlines()
        time.sleep(COLLECTING_SECONDS)
        after = library.calls.read_text().splitlines()[len(before) :]
    own = [line for line in after if not line.startswith("nvmlEventSetWait")]
    # Both ask each GPU for its power once in each cycle.
    return len(own) / own.count("nvmlDeviceGetPowerUsage 0")


def measure(contender: Contender, library: Library, *flags: str) -> Cost:
    """Measure one exporter, collecting once a second."""
    with contender.run(library.folder, library.environment(), *flags) as (process, url):
        scrape(url, AS_PROMETHEUS)
        time.sleep(SETTLE_SECONDS)
        rest = at_rest(process, COLLECTING_SECONDS)
        plain, cpu_plain = scrapes(process, url, PLAIN, rest)
        compressed, cpu_compressed = scrapes(process, url, AS_PROMETHEUS, rest)
        own = [name for name in _series(scrape(url, PLAIN)) if name.startswith("gpu_")]
        rss = process.memory_info().rss
    calls = calls_per_cycle(contender, library, *flags)
    return Cost(plain, compressed, cpu_plain, cpu_compressed, rest * COLLECT_EVERY_SECONDS, calls, rss, len(own))


def working(contender: Contender, library: Library) -> float:
    """Return the share of a core that an exporter uses as it comes, scraped as Prometheus does every 15 s."""
    with contender.run(library.folder, library.environment()) as (process, url):
        # Ours learns from a few scrapes how often they come.
        for _ in range(SETTLING_SCRAPES):
            scrape(url, AS_PROMETHEUS)
            time.sleep(SCRAPE_EVERY_SECONDS)
        began, before = time.monotonic(), used(process)
        while time.monotonic() - began < WORKING_SECONDS:
            scrape(url, AS_PROMETHEUS)
            time.sleep(SCRAPE_EVERY_SECONDS)
        return (used(process) - before) / 1000 / (time.monotonic() - began)


def wedged(contender: Contender, library: Library) -> tuple[float, float, float]:
    """Let one GPU hang; return the p50 of a scrape before and meanwhile in ms, and the others' greatest age in s."""
    with contender.run(library.folder, library.environment(fixed=False)) as (_, url):
        time.sleep(SETTLE_SECONDS)
        before, _ = _watch_others(url, WEDGED_SECONDS / 2)
        library.tell("3.hang 1")
        meanwhile, oldest = _watch_others(url, WEDGED_SECONDS)
        library.tell("")
    return before, meanwhile, oldest


def _watch_others(url: str, seconds: float) -> tuple[float, float]:
    """Scrape now and then; return the p50 in ms and the greatest age in s of what all GPUs but number 3 show."""
    wall, oldest = [], 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        at = time.perf_counter()
        body = scrape(url, PLAIN).decode()
        wall.append(1000 * (time.perf_counter() - at))
        stamps = re.findall(rf'^{metrics.LAST_COLLECTION_TIMESTAMP}{{gpu="[^3]",.*}} (\S+)$', body, re.MULTILINE)
        if len(stamps) != GPUS - 1:
            raise RuntimeError(f"{len(stamps)} of the other {GPUS - 1} GPUs are shown")
        oldest = max(oldest, *(time.time() - float(stamp) for stamp in stamps))
        time.sleep(SCRAPE_PAUSE_SECONDS)
    return median(wall), oldest


def install_nvitop(folder: Path) -> Path:
    """Install nvitop-exporter into an environment of its own and return its program."""
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "pip", "--disable-pip-version-check", "install", "--quiet", NVITOP], check=True)
    return folder / "bin" / "nvitop-exporter"


def row(name: str, cost: Cost) -> list[str]:
    """Return a line of the table."""
    times = [*(f(cost.plain) for f in (median, lambda wall: quantile(wall, 0.99)))]
    times += [median(cost.compressed), quantile(cost.compressed, 0.99), cost.cpu_plain, cost.cpu_compressed]
    figures = [f"{ms:.2f}" for ms in (*times, cost.cpu_collection)]
    return [name, *figures, f"{cost.calls:.0f}", f"{cost.rss / 1e6:.0f}", str(cost.series)]


def main() -> int:
    """Print the table and judge the ratios."""
    print(f"{machine()}\n{GPUS} fake GPUs, {SCRAPES} scrapes one after the other, one collection a second")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "library").mkdir()
        library = Library(folder / "library")
        theirs = Contender("nvitop-exporter", "gpu_temperature_C", install_nvitop(folder / "nvitop"))
        ours = Contender("ours", metrics.TEMPERATURE.name)
        every = f"--gpu.interval={COLLECT_EVERY_SECONDS}s"
        costs = {
            "nvitop-exporter": measure(theirs, library, f"--interval={COLLECT_EVERY_SECONDS}"),
            "ours": measure(ours, library, every, "--gpu.sampler-hz=0"),
        }
        shares = {contender.name: working(contender, library) for contender in (theirs, ours)}
        before, meanwhile, oldest = wedged(ours, library)
        one_call = subprocess.run(
            [sys.executable, "-c", ONE_CALL], env=library.environment(), capture_output=True, text=True, check=True
        )
    floor = 1000 * float(one_call.stdout)
    show_table(
        "Times in ms: a scrape until it is whole, processor time of a scrape and of a collection of all GPUs (ours "
        "renders with it, in both forms). gz: OpenMetrics, compressed, as Prometheus asks.",
        ["exporter", "p50", "p99", "gz p50", "gz p99", "CPU", "gz CPU", "collection", "NVML calls", "RSS MB", "series"],
        [row(name, cost) for name, cost in costs.items()],
    )
    for name, cost in costs.items():
        least = cost.calls * floor
        print(
            f"  {name}: the raw calls of a collection take {least:.2f} ms, the collection {cost.cpu_collection:.2f} ms"
        )
    print(f"  share of a core, scraped every {SCRAPE_EVERY_SECONDS:g} s, as they come: ", end="")
    print(", ".join(f"{name} {share:.2%}" for name, share in shares.items()))
    print(f"  one GPU wedged for {WEDGED_SECONDS:g} s: scrape p50 {before:.2f} -> {meanwhile:.2f} ms, ", end="")
    print(f"the others' last collection at most {oldest:.1f} s ago")
    nvitop, own = costs["nvitop-exporter"], costs["ours"]
    return judge(
        [
            Ratio("scrape p50, ours / nvitop-exporter", median(own.plain) / median(nvitop.plain), 0, 0.2),
            Ratio("scrape p50 gz, ours / nvitop-exporter", median(own.compressed) / median(nvitop.compressed), 0, 0.2),
            Ratio("CPU of a scrape, ours / nvitop-exporter", own.cpu_plain / nvitop.cpu_plain, 0, 0.1),
            Ratio("CPU of a scrape gz, ours / nvitop-exporter", own.cpu_compressed / nvitop.cpu_compressed, 0, 0.1),
            Ratio("series, nvitop-exporter / ours", nvitop.series / own.series, 0, 1),
            Ratio("share of a core, ours", shares["ours"], 0, 0.01),
            Ratio("scrape p50 with a wedged GPU / without", meanwhile / before, 0, 1.5),
            Ratio("age of the others / interval", oldest / 5, 0, 1.5),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())

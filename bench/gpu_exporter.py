"""Our GPU exporter beside nvitop-exporter, on the same fake library with 8 GPUs: `python -m bench.gpu_exporter`.

nvitop-exporter comes from PyPI into an environment of its own, which is thrown away at the end. Both run as processes
of their own, in turn. The fake library answers at once, so what is measured is the exporters and not a driver; what
a slow driver does is measured at the end, with one GPU whose calls hang.
"""

import re
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from bench.gpu_contenders import (
    AS_PROMETHEUS,
    GPUS,
    PLAIN,
    Contender,
    Library,
    floor,
    install_nvitop,
    scrape,
    series,
)
from bench.report import Ratio, judge, machine, quantile, show_table
from exporters.gpu import metrics

SCRAPES = 200
SETTLE_SECONDS = 5.0
COLLECTING_SECONDS = 20.0
WORKING_SECONDS = 60.0
SCRAPE_EVERY_SECONDS = 15.0
SETTLING_SCRAPES = 3
WEDGED_SECONDS = 30.0
SCRAPE_PAUSE_SECONDS = 0.1
# Both collect as often for the cost of a collection; for the cost of a working day ours keeps its default.
COLLECT_EVERY_SECONDS = 1


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


def used(process: psutil.Process) -> float:
    """Return the processor time that a process has used, its ended threads included, in ms."""
    # The clock of its processor time, as clock_getcpuclockid names it; /proc tells only hundredths of a second.
    return 1000 * time.clock_gettime(~process.pid << 3 | 2)


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
        own = [name for name in series(scrape(url, PLAIN)) if name.startswith("gpu_")]
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
        one_call = floor(library)
    show_table(
        "Times in ms: a scrape until it is whole, processor time of a scrape and of a collection of all GPUs (ours "
        "renders with it, in both forms). gz: OpenMetrics, compressed, as Prometheus asks.",
        ["exporter", "p50", "p99", "gz p50", "gz p99", "CPU", "gz CPU", "collection", "NVML calls", "RSS MB", "series"],
        [row(name, cost) for name, cost in costs.items()],
    )
    for name, cost in costs.items():
        least = cost.calls * one_call
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

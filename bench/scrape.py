"""What a scrape of each exporter costs: `python -m bench.scrape`.

The exporters run as processes of their own and are scraped as Prometheus does, compressed. Their processor time is the
operating system's account of the process, less what the process uses between scrapes (collecting, sampling, the
scheduler's housekeeping). The GPUs are simulated, so reading the driver is not part of it; the probes' targets are
streams of a local server.
"""

import gzip
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from bench.processes import exporter, stamped_server
from bench.report import Ratio, judge, machine, quantile, show_table
from exporters.gpu import metrics as gpu_metrics
from exporters.probe import metrics as probe_metrics

GPUS = (4, 8)
TARGETS = (5, 20)
SCRAPES = 100
REST_SECONDS = 5.0
# Twice as many things may cost at most so much more than twice the processor time.
ABOVE_LINEAR = 1.25
HEADERS = {
    "Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
    "Accept-Encoding": "gzip",
}


@dataclass(frozen=True)
class Cost:
    """What scrapes of one process cost; times in ms, sizes in bytes."""

    wall: list[float]
    cpu: float
    rest: float
    series: int
    size: int
    compressed: int
    rss: int


def scrape(url: str) -> bytes:
    """Return a compressed scrape."""
    with urllib.request.urlopen(urllib.request.Request(f"{url}/metrics", headers=HEADERS)) as answer:
        body: bytes = answer.read()
    return body


def samples(body: bytes) -> list[str]:
    """Return the lines of a scrape that are samples."""
    return [line for line in gzip.decompress(body).decode().splitlines() if not line.startswith("#")]


def wait_for(url: str, series: str, ending: str, count: int) -> None:
    """Scrape until so many samples of a series have a value that ends so."""
    give_up = time.monotonic() + 120
    while sum(line.startswith(series) and line.endswith(ending) for line in samples(scrape(url))) < count:
        if time.monotonic() > give_up:
            raise RuntimeError(f"{url} did not show {count} x {series} within 120 s")
        time.sleep(0.2)


def processor_seconds(process: psutil.Process) -> float:
    """Return the processor time that a process has used."""
    used = process.cpu_times()
    return float(used.user + used.system)


def measure(pid: int, url: str) -> Cost:
    """Scrape a process again and again."""
    process = psutil.Process(pid)
    scrape(url)
    before = processor_seconds(process)
    time.sleep(REST_SECONDS)
    rest = (processor_seconds(process) - before) / REST_SECONDS
    wall = []
    began, before = time.monotonic(), processor_seconds(process)
    for _ in range(SCRAPES):
        at = time.perf_counter()
        body = scrape(url)
        wall.append(1000 * (time.perf_counter() - at))
    cpu = processor_seconds(process) - before - rest * (time.monotonic() - began)
    plain = gzip.decompress(body)
    return Cost(
        wall, 1000 * cpu / SCRAPES, 1000 * rest, len(samples(body)), len(plain), len(body), process.memory_info().rss
    )


def of_gpus(folder: Path, count: int) -> Cost:
    """Measure the GPU exporter with so many simulated GPUs."""
    with exporter("exporters.gpu", folder / "log", f"--simulate={count}") as (pid, url):
        wait_for(url, gpu_metrics.UP.name, " 1.0", count)
        return measure(pid, url)


def of_targets(folder: Path, count: int) -> Cost:
    """Measure the probe exporter with so many targets, each probed once before."""
    with ExitStack() as stack:
        (port,) = stack.enter_context(stamped_server())
        url = f"http://127.0.0.1:{port}/chunked/5/16/v1"
        targets = "".join(f"- {{name: target-{index}, url: '{url}'}}\n" for index in range(count))
        file = folder / "inferwatch.yml"
        file.write_text(f"defaults: {{interval: 1d}}\ntargets:\n{targets}")
        flags = (f"--config.file={file}", f"--state.dir={folder}")
        pid, served = stack.enter_context(exporter("exporters.probe", folder / "log", *flags))
        wait_for(served, probe_metrics.LAST_SUCCESS.name, " 1.0", count)
        return measure(pid, served)


def row(name: str, cost: Cost) -> list[str]:
    """Return a line of the table."""
    return [
        name,
        f"{median(cost.wall):.1f}",
        f"{quantile(cost.wall, 0.99):.1f}",
        f"{cost.cpu:.1f}",
        f"{cost.rest:.0f}",
        str(cost.series),
        f"{cost.size / 1e3:.0f}",
        f"{cost.compressed / 1e3:.1f}",
        f"{cost.rss / 1e6:.0f}",
    ]


def main() -> int:
    """Print the table and judge how the cost grows."""
    print(f"{machine()}\n{SCRAPES} scrapes, one after the other; the GPUs are simulated")
    rows, ratios = [], []
    for what, counts, cost_of in (("simulated GPUs", GPUS, of_gpus), ("targets", TARGETS, of_targets)):
        costs = {}
        for count in counts:
            with tempfile.TemporaryDirectory() as folder:
                costs[count] = cost_of(Path(folder), count)
            rows.append(row(f"{count} {what}", costs[count]))
        few, many = counts
        growth = costs[many].cpu / costs[few].cpu / (many / few)
        ratios.append(Ratio(f"CPU of a scrape / linear, {few} to {many} {what}", growth, 0.0, ABOVE_LINEAR))
        growth = costs[many].series / costs[few].series / (many / few)
        ratios.append(Ratio(f"series / linear, {few} to {many} {what}", growth, 0.0, 1.0))
    show_table(
        "A scrape: time until the answer is whole and processor time of the exporter, in ms; at rest, ms of processor "
        "time a second.",
        ["exporter with", "p50", "p99", "CPU", "at rest", "series", "kB", "kB gzip", "RSS MB"],
        rows,
    )
    return judge(ratios)


if __name__ == "__main__":
    sys.exit(main())

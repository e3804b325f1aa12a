"""Whether one probe exporter keeps up with many targets: `python -m bench.probe_scale [SECONDS]`.

500 targets of 4 scenarios, each probed once a minute, against a local server that answers within a second, and scraped
every 15 s as Prometheus does. The server and this bench take their share of the same machine. What is measured is the
time after the warm-up; whether memory is flat, 20 minutes tell.
"""

import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from bench.processes import exporter, stamped_server
from bench.report import Ratio, judge, machine, show_table
from bench.scrape import processor_seconds, samples, scrape
from exporters.probe import metrics

TARGETS = 500
SCENARIOS = 4
INTERVAL = 60.0
MAX_CONCURRENT = 64
# The server sends so many events, so far apart: an answer takes three quarters of a second.
EVENTS, GAP_MS = 15, 50
WARM_SECONDS = 90.0
MEASURED_SECONDS = 180.0
SCRAPE_EVERY_SECONDS = 15.0
# Each probe is due once in an interval, but at a moment of its own: at both ends of the time one may lie outside.
EDGE = 0.05
MEMORY_GROWTH = 1.1


@dataclass(frozen=True)
class Seen:
    """One scrape: what had happened by then, and what it cost."""

    at: float
    ended: float
    succeeded: float
    tainted: float
    skipped: float
    series: int
    compressed: int
    milliseconds: float
    rss: int
    threads: int
    cpu: float


def configuration(port: int) -> str:
    """Return the file."""
    url = f"http://127.0.0.1:{port}/chunked/{GAP_MS}/{EVENTS}/v1"
    names = [f"s{index}" for index in range(SCENARIOS)]
    lines = [f"prober: {{max_concurrent: {MAX_CONCURRENT}}}"]
    lines += [f"defaults: {{interval: {INTERVAL:g}s, scenarios: [{', '.join(names)}]}}", "targets:"]
    lines += [f"- {{name: target-{index}, url: '{url}', model: stamped-model}}" for index in range(TARGETS)]
    lines += ["scenarios:", *(f"  {name}: {{prompt: 'prompt {name}', max_tokens: 64}}" for name in names)]
    return "\n".join(lines) + "\n"


def look(url: str, process: psutil.Process) -> Seen:
    """Scrape once."""
    began = time.monotonic()
    body = scrape(url)
    took = 1000 * (time.monotonic() - began)
    lines = samples(body)

    def total(name: str, part: str = "") -> float:
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name}{{") and part in line)

    return Seen(
        began,
        total(metrics.REQUESTS.name),
        total(metrics.REQUESTS.name, 'outcome="success"'),
        total(metrics.REQUESTS.name, 'outcome="tainted"'),
        total(metrics.SKIPPED.name),
        len(lines),
        len(body),
        took,
        process.memory_info().rss,
        process.num_threads(),
        processor_seconds(process),
    )


def watch(url: str, pid: int, seconds: float) -> list[Seen]:
    """Scrape every 15 s for so long, and once at its beginning."""
    process = psutil.Process(pid)
    found = [look(url, process)]
    while time.monotonic() - found[0].at < seconds:
        time.sleep(max(found[-1].at + SCRAPE_EVERY_SECONDS - time.monotonic(), 0))
        found.append(look(url, process))
    return found


def main(arguments: list[str]) -> int:
    """Print the table and judge."""
    seconds = float(arguments[0]) if arguments else MEASURED_SECONDS
    print(machine())
    print(
        f"{TARGETS} targets of {SCENARIOS} scenarios, each probed every {INTERVAL:g} s: "
        f"{TARGETS * SCENARIOS / INTERVAL:.1f} probes a second of {EVENTS * GAP_MS / 1000:g} s; "
        f"prober.max_concurrent {MAX_CONCURRENT}; {WARM_SECONDS:g} s to warm up, {seconds:g} s measured"
    )
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        (port,) = stack.enter_context(stamped_server())
        (folder / "inferwatch.yml").write_text(configuration(port))
        flags = (f"--config.file={folder / 'inferwatch.yml'}", f"--state.dir={folder}")
        pid, url = stack.enter_context(exporter("exporters.probe", folder / "log", *flags))
        watch(url, pid, WARM_SECONDS)
        seen = watch(url, pid, seconds)
    first, last = seen[0], seen[-1]
    passed = last.at - first.at
    due = passed * TARGETS * SCENARIOS / INTERVAL
    show_table(
        "Scrapes while all are probed",
        ["", "first", "median", "last"],
        [
            ["series", f"{first.series}", f"{median(one.series for one in seen):.0f}", f"{last.series}"],
            ["kB gzip", *(f"{size / 1e3:.0f}" for size in _three([one.compressed for one in seen]))],
            ["scrape, ms", *(f"{ms:.0f}" for ms in _three([one.milliseconds for one in seen]))],
            ["RSS, MB", *(f"{rss / 1e6:.0f}" for rss in _three([one.rss for one in seen]))],
            ["threads", *(f"{count:.0f}" for count in _three([one.threads for one in seen]))],
        ],
    )
    show_table(
        "Memory over time",
        ["minute", *(f"{(one.at - first.at) / 60:.0f}" for one in _each_minute(seen))],
        [["RSS, MB", *(f"{one.rss / 1e6:.0f}" for one in _each_minute(seen))]],
    )
    ended, missed = last.ended - first.ended, last.skipped - first.skipped
    print(f"\n  {ended:.0f} probes ended of {due:.0f} due; {missed:.0f} were skipped")
    tainted = last.tainted - first.tainted
    print(f"  {tainted:.0f} were tainted: this machine was too busy to time them")
    print(f"  processor time: {100 * (last.cpu - first.cpu) / passed:.0f} % of one core")
    return judge(
        [
            Ratio("skipped / due", missed / due, 0.0, 0.0),
            Ratio("ended / due", ended / due, 1 - EDGE, 1 + EDGE),
            Ratio("succeeded / not tainted", (last.succeeded - first.succeeded) / (ended - tainted), 1.0, 1.0),
            Ratio("RSS, last / first", last.rss / first.rss, 0.0, MEMORY_GROWTH),
            Ratio("threads, last / first", last.threads / first.threads, 0.0, 1.5),
        ]
    )


def _each_minute(seen: list[Seen]) -> list[Seen]:
    """Return the first scrape of each minute, and the last of all."""
    found = [seen[0]]
    for one in seen:
        if one.at - found[0].at >= 60 * len(found):
            found.append(one)
    return found if found[-1] is seen[-1] else [*found, seen[-1]]


def _three(values: list[float] | list[int]) -> tuple[float, float, float]:
    return values[0], median(values), values[-1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

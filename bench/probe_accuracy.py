"""How late readers stamp an event, ours beside others: `python -m bench.probe_accuracy [ROUNDS]`.

As bench.arrival, but each reader in a process of its own, at 1, 16 and 64 streams, staggered and in step, and with the
clients that others build on: openai, httpx and aiohttp, in a throw-away environment that this bench makes with pip, as
they are no dependencies of ours. A round takes every case once. Absolute figures are printed, ratios are judged.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.arrival import EVENTS, GAP_MS, read_all, read_as_probe, read_bare, scraped
from bench.arrival import Case as ArrivalCase
from bench.processes import stamped_server
from bench.report import Ratio, judge, machine, quantile, show_table

ROUNDS = 5
STREAMS = (1, 16, 64)
OURS = {"ours": read_as_probe, "bare socket": read_bare}
OTHERS = ("openai", "httpx", "aiohttp")
# What may lie between the 99th percentiles of ours and of a bare socket of the same round, in ms, by streams.
ALLOWED_MS = {1: 0.3, 16: 0.5, 64: 1.0}
WARM_GAP_MS = 1.0
# Prometheus scrapes seldom; once a second is already many of them.
SCRAPE_SECONDS = 1.0


@dataclass(frozen=True)
class Case:
    """One row."""

    reader: str
    streams: int
    framing: str
    scraped: bool = False

    @property
    def name(self) -> str:
        """What the row is called."""
        return f"{self.reader}, {self.framing}" + (", scraped" if self.scraped else "")


@dataclass(frozen=True)
class Read:
    """What one run of a case gave: p50 and p99 of the errors in ms, and processor time in seconds."""

    p50: float
    p99: float
    cpu: float


def cases(others: bool) -> list[Case]:
    """Return the rows: ours and a bare socket over every framing, the others over the one that servers use."""
    framings = ("chunked", "chunked-step", "close", "close-step")
    rows = [Case(reader, streams, framing) for reader in OURS for streams in STREAMS for framing in framings]
    rows += [Case("ours", streams, "chunked", scraped=True) for streams in STREAMS]
    if others:
        rows += [Case(one, streams, framing) for one in OTHERS for streams in STREAMS for framing in framings[:2]]
    return rows


def read_in_this_process(reader: str, warm: str, url: str, streams: int, with_scrapes: bool) -> dict[str, object]:
    """Read a fast stream, so that imports and first uses are over, then measure."""
    case = ArrivalCase(reader, OURS[reader], url, streams)
    read_all(ArrivalCase(reader, OURS[reader], warm))
    with scraped(SCRAPE_SECONDS) if with_scrapes else nullcontext():
        before = time.process_time()
        errors = read_all(case)
        return {"errors": errors, "cpu": time.process_time() - before}


def run(case: Case, base: str, python: Path | None) -> Read:
    """Run a case in a process of its own."""
    warm, url = (f"{base}/{case.framing}/{gap:g}/{EVENTS}/v1" for gap in (WARM_GAP_MS, GAP_MS))
    if case.reader in OURS:
        command = [sys.executable, "-m", "bench.probe_accuracy", "--read", case.reader, warm, url]
        command += [str(case.streams), *(["scraped"] if case.scraped else [])]
    else:
        script = str(Path(__file__).with_name("other_readers.py"))
        command = [str(python), script, case.reader, warm, url, str(case.streams)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if ended.returncode:
        raise RuntimeError(f"{case.name} failed: {ended.stderr[-2000:]}")
    found = json.loads(ended.stdout)
    if len(found["errors"]) != EVENTS * case.streams:
        raise RuntimeError(f"{case.name}: {len(found['errors'])} events of {EVENTS * case.streams}")
    return Read(quantile(found["errors"], 0.5), quantile(found["errors"], 0.99), found["cpu"])


def environment(folder: Path) -> Path | None:
    """Make an environment with the clients of others; None if pip cannot install them here."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *OTHERS], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"without {', '.join(OTHERS)}, since pip could not install them: {done.stderr.strip()[-300:]}")
        return None
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    )
    print("beside", ", ".join(line for line in listed.stdout.split() if line.split("==")[0] in OTHERS))
    return python


def judged(found: dict[Case, list[Read]]) -> list[Ratio]:
    """Return what is judged: each round is compared with itself, and the median of the rounds counts."""
    ratios = []
    for case, reads in found.items():
        if case.reader != "ours":
            continue
        other = found.get(Case("bare socket", case.streams, case.framing))
        if other and not case.scraped:
            over = median(ours.p99 - bare.p99 for ours, bare in zip(reads, other, strict=True))
            ratios.append(
                Ratio(
                    f"ms over bare, p99, {case.streams}, {case.framing}", over, float("-inf"), ALLOWED_MS[case.streams]
                )
            )
        if case.scraped:
            idle = found[Case("ours", case.streams, case.framing)]
            ratio = median(busy.p99 / rest.p99 for busy, rest in zip(reads, idle, strict=True))
            ratios.append(Ratio(f"p99 scraped / idle, {case.streams}", ratio, 0.0, 2.0))
        openai = found.get(Case("openai", case.streams, case.framing))
        if openai and not case.scraped:
            ratio = median(ours.cpu / theirs.cpu for ours, theirs in zip(reads, openai, strict=True))
            ratios.append(Ratio(f"CPU / openai's, {case.streams}, {case.framing}", ratio, 0.0, 1 / 3))
    return ratios


def main(arguments: list[str]) -> int:
    """Print the table and judge, or be the process of one reader."""
    if arguments[:1] == ["--read"]:
        reader, warm, url, streams, *more = arguments[1:]
        json.dump(read_in_this_process(reader, warm, url, int(streams), bool(more)), sys.stdout)
        return 0
    rounds = int(arguments[0]) if arguments else ROUNDS
    os.environ.pop("REQUESTS_CA_BUNDLE", None)
    print(f"{machine()}\n{rounds} rounds of {EVENTS} events a stream, {GAP_MS:g} ms apart", flush=True)
    with tempfile.TemporaryDirectory() as folder, stamped_server() as ports:
        python = environment(Path(folder))
        rows = cases(others=python is not None)
        found: dict[Case, list[Read]] = {case: [] for case in rows}
        for _ in range(rounds):
            for case in rows:
                found[case].append(run(case, f"http://127.0.0.1:{ports[0]}", python))
    table = [
        [case.name, str(case.streams), *(f"{median(figures):.2f}" for figures in zip(*_figures(reads), strict=True))]
        for case, reads in found.items()
    ]
    show_table(
        f"Error of an arrival in ms, processor time in s, medians of the rounds. Scraped: every {SCRAPE_SECONDS:g} s.",
        ["reader and framing", "streams", "p50", "p99", "CPU"],
        table,
    )
    return judge(judged(found))


def _figures(reads: list[Read]) -> list[tuple[float, float, float]]:
    return [(read.p50, read.p99, read.cpu) for read in reads]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

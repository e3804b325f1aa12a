"""How late the probe exporter stamps an event: `python -m bench.arrival`.

A server in another process writes the time into each event just before it sends it. The probe's real reader and decoder
take the stream, and the error of an event is its stamp less the server's time. Where the reader stamps, that is the
kernel, the wake-up, the wait for the interpreter and what libraries hold back; where the kernel stamps, it is the
kernel alone. It is measured on loopback, so a network adds nothing and hides nothing.
"""

import gc
import itertools
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import requests
from prometheus_client import CollectorRegistry

from bench.processes import certificate, running, stamped_server
from bench.report import Ratio, judge, machine, quantile, show_table
from exporters.probe.__main__ import keep_pauses_short
from exporters.probe.asking.ask import HOLD_SECONDS
from exporters.probe.asking.reader import exchange
from exporters.probe.protocols import PROTOCOLS
from exporters.probe.series.record import Record
from exporters.probe.series.rendered import RenderedMetrics
from exporters.probe.wire.connection import Recorder
from exporters.probe.wire.deadline import Deadline
from inferwatch.exposition import ExpositionServer

GAP_MS = 20.0
EVENTS = 100
ROUNDS = 5
MANY = 16
RECORDS = 20
SCRAPE_EVERY_SECONDS = 0.25
PYTHON_SWITCH_INTERVAL = 0.005
_SENT = re.compile(rb'"sent_ns": (\d+)')

Read = Callable[[str], list[float]]
SCRAPER = "import sys, time, urllib.request\nwhile True:\n urllib.request.urlopen(sys.argv[1]).read()\n time.sleep({})"


@dataclass(frozen=True)
class Case:
    """One row: how it is read, from where, by how many streams at once, and whether scrapes come in between.

    `tuned` says whether the interpreter is tuned as the service tunes it, or as it comes.
    """

    name: str
    read: Read
    url: str
    streams: int = 1
    scraped: bool = False
    tuned: bool = True


def stamps(body: bytes) -> list[int]:
    """Return the server's times of the stamped events of a body, in ns."""
    return [int(found) for found in _SENT.findall(body)]


def read_as_probe(url: str) -> list[float]:
    """Read a stream with the probe exporter's reader and decoder; return the error of each event in ms."""
    protocol = PROTOCOLS["openai-chat"]
    decoder = protocol.decoder()
    arrived: list[float] = []
    pieces = []
    with Deadline(120.0) as deadline, exchange("POST", url + protocol.path, {}, b"{}", Recorder(deadline)) as answer:
        answer.check_status()
        for at, data in answer.reads(1 << 24, HOLD_SECONDS):
            arrived += [at for event in decoder.feed(data) if event.channel is not None]
            pieces.append(data)
    return errors(arrived, stamps(b"".join(pieces)))


def read_bare(url: str) -> list[float]:
    """Read a stream from a bare socket, the least that Python can do; return the error of each event in ms."""
    host, port = urlsplit(url).hostname, urlsplit(url).port
    arrived: list[float] = []
    pieces = []
    with socket.create_connection((host, port)) as sock:
        sock.sendall(f"POST {urlsplit(url).path}/chat/completions HTTP/1.1\r\n\r\n".encode())
        while data := sock.recv(1 << 16):
            at = time.perf_counter()
            arrived += [at] * data.count(b"sent_ns")
            pieces.append(data)
    return errors(arrived, stamps(b"".join(pieces)))


def read_by_lines(url: str) -> list[float]:
    """Read a stream with `iter_lines` of requests; return the error of each event in ms."""
    arrived, lines = [], []
    with requests.post(url + PROTOCOLS["openai-chat"].path, json={}, stream=True, timeout=120) as answer:
        for line in answer.iter_lines():
            if b"sent_ns" in line:
                arrived.append(time.perf_counter())
                lines.append(line)
    return errors(arrived, stamps(b"\n".join(lines)))


def errors(arrived: list[float], sent_ns: list[int]) -> list[float]:
    """Return arrival less sending for each event, in ms."""
    if len(arrived) != EVENTS or len(sent_ns) != EVENTS:
        raise RuntimeError(f"{len(arrived)} events arrived and {len(sent_ns)} stamps of {EVENTS}")
    return [1000 * at - sent / 1e6 for at, sent in zip(arrived, sent_ns, strict=True)]


@contextmanager
def scraped(every: float = SCRAPE_EVERY_SECONDS) -> Iterator[None]:
    """Serve `/metrics` with records from this process, and have another process scrape it again and again.

    At each scrape one record has changed, which is more than probes of a minute change.
    """
    records = {(f"target-{index}", "short"): Record("bench-model") for index in range(RECORDS)}
    began = threading.Event()

    turns = itertools.cycle(records.values())

    def intervals() -> dict[tuple[str, str], float]:
        began.set()
        next(turns).skip("overlap")
        return dict.fromkeys(records, 60.0)

    metrics = RenderedMetrics(lambda: records, intervals, lambda: 0, CollectorRegistry())
    server = ExpositionServer("bench", "127.0.0.1:0", metrics)
    server.start()
    command = [sys.executable, "-c", SCRAPER.format(every), f"http://{server.address}/metrics"]
    try:
        with running(command, stderr=subprocess.DEVNULL):
            began.clear()
            if not began.wait(60):
                raise RuntimeError("no scrape came within 60 s")
            yield
    finally:
        server.stop()


def measure(cases: list[Case]) -> dict[Case, list[list[float]]]:
    """Return the errors of each round of each case in ms, all streams together.

    A round takes every case once, so that what else the machine does is shared out among them.
    """
    found: dict[Case, list[list[float]]] = {case: [] for case in cases}
    for _ in range(ROUNDS):
        for scrapes in (False, True):
            with scraped() if scrapes else nullcontext():
                for case in (one for one in cases if one.scraped == scrapes):
                    found[case].append(read_all(case))
    return found


def read_all(case: Case) -> list[float]:
    """Return the errors of all streams of a case, read at the same time, in ms."""
    if case.tuned:
        keep_pauses_short()
    else:
        sys.setswitchinterval(PYTHON_SWITCH_INTERVAL)
        gc.unfreeze()
    with ThreadPoolExecutor(case.streams) as pool:
        return [error for stream in pool.map(case.read, [case.url] * case.streams) for error in stream]


def cases(chunked: str, close: str, tls: str | None) -> list[Case]:
    """Return the rows of the table for the base URLs of three framings."""
    ours = {"chunked": chunked, "close": close, **({"chunked, TLS": tls} if tls else {})}
    rows = [
        Case(f"ours, {framing}", read_as_probe, url, streams, scrapes)
        for scrapes in (False, True)
        for streams in (1, MANY)
        for framing, url in ours.items()
    ]
    rows.append(Case("ours, chunked, untuned Python", read_as_probe, chunked, MANY, True, tuned=False))
    rows += [Case("bare socket, close", read_bare, close, streams) for streams in (1, MANY)]
    rows.append(Case("requests iter_lines, chunked", read_by_lines, chunked))
    rows.append(Case("requests iter_lines, close", read_by_lines, close))
    return rows


def main() -> int:
    """Print the table and judge ratios of medians."""
    print(f"{machine()}\n{ROUNDS} rounds of {EVENTS} events a stream, {GAP_MS:g} ms apart; streams are not in step")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        pem = certificate(Path(folder))
        if pem is None:
            print("without TLS, since the program openssl is absent")
        else:
            os.environ["REQUESTS_CA_BUNDLE"] = str(pem)
        ports = stack.enter_context(stamped_server(pem))
        path = f"{GAP_MS:g}/{EVENTS}/v1"
        plain = f"http://127.0.0.1:{ports[0]}"
        tls = f"https://localhost:{ports[1]}/chunked/{path}" if pem else None
        found = measure(cases(f"{plain}/chunked/{path}", f"{plain}/close/{path}", tls))
    rows = []
    middle: dict[tuple[str, int, bool], float] = {}
    for case, rounds in found.items():
        p50, p99 = (median(quantile(one, share) for one in rounds) for share in (0.5, 0.99))
        middle[case.name, case.streams, case.scraped] = p50
        figures = (p50, p99, max(max(one) for one in rounds))
        rows.append([case.name, str(case.streams), "yes" if case.scraped else "no", *(f"{ms:.2f}" for ms in figures)])
    show_table(
        f"Error of an arrival in ms: median of the rounds, and the largest of all. Scraped: {RECORDS} records, "
        f"every {SCRAPE_EVERY_SECONDS:g} s.",
        ["reader and framing", "streams", "scraped", "p50", "p99", "max"],
        rows,
    )
    ratios = [
        Ratio(f"p50 error / gap, {name}, {streams} stream(s)", ms / GAP_MS, 0.0, 0.25)
        for (name, streams, scrapes), ms in middle.items()
        if name.startswith("ours") and not scrapes
    ]
    by_lines = middle["requests iter_lines, close", 1, False]
    ratios.append(Ratio("p50 error of ours / iter_lines, close", middle["ours, close", 1, False] / by_lines, 0.0, 0.5))
    return judge(ratios)


if __name__ == "__main__":
    sys.exit(main())

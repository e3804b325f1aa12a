"""The probe exporter against every misbehaviour at once, its configuration edited and broken all the while."""

import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
from hostile import HostileServer
from hostile_peer import BEHAVIOURS
from soak_watch import PATIENCE, Resources, Scrape, Watched, check_held, labels_of, until

from exporters.probe import metrics

SEED = 7
MAX_CONCURRENT = 24
EDIT_EVERY_SECONDS = 3.0
SCRAPE_EVERY_SECONDS = 0.5
# A round takes some seconds, and the next begins 15 s after the last (targets/engine_kinds.py).
IDLE_WITHIN_SECONDS = 15.0
# These stay as they are in every edit, so that their counters may never fall.
LASTING = ("good", "slow", "buffered", "gzipped", "truncated", "reset", "silent", "drip", "html", "broken", "endless")
BROKEN = (
    b"targets: [",
    b"targets: 7\n",
    b"\xff\xfe\x00",
    b"targets:\n- {name: x, url: nonsense}\n",
    b"- just a list\n",
)

pytestmark = pytest.mark.soak


class Service:
    """The exporter, the server it probes, and the file that is edited."""

    def __init__(self, folder: Path, server: HostileServer) -> None:
        self.server = server
        self.file = folder / "inferwatch.yml"
        self.draw = random.Random(SEED)
        self.key = folder / "key"
        self.others = [name for name in BEHAVIOURS if name not in LASTING]
        self.write(self.others, quiet=False)
        state = f"--state.dir={folder / 'state'}"
        self.exporter = Watched("exporters.probe", folder, f"--config.file={self.file}", state, keeps=lasts)
        self.reloads_seen: set[float] = set()

    def write(self, others: list[str], *, quiet: bool) -> None:
        """Replace the file; a quiet one probes once a day, and measures the same, so that no series is made anew."""
        lines = [f"prober: {{max_concurrent: {MAX_CONCURRENT}}}", "targets:"]
        lines += [self.target(name, quiet, "cost: {per_hour: 36}") for name in LASTING]
        lines += [self.target(name, quiet) for name in others]
        new = self.file.with_suffix(".new")
        new.write_text("\n".join(lines) + "\n")
        new.replace(self.file)

    def target(self, name: str, quiet: bool, more: str = "") -> str:
        interval = "1d" if quiet else f"{1 + len(name) % 2}s"
        api = "openai-completions" if name == "legacy" else "openai-chat"
        # Half of them ask the server which model it serves.
        model = "model: m" if len(name) % 3 else ""
        keyed = f"auth: {{bearer_file: '{self.key}'}}" if name == "comments" else ""
        parts = [f"name: {name.replace('_', '-')}, url: '{self.server.url(name)}', api: {api}"]
        parts += [f"interval: {interval}, timeout: 2s", *(part for part in (model, more, keyed) if part)]
        return f"- {{{', '.join(parts)}}}"

    def edit(self) -> None:
        """Change the file in one of the ways in which files change, and sometimes ask for it to be read now."""
        draw = self.draw
        way = draw.randrange(6)
        if way == 0:
            self.file.write_bytes(draw.choice(BROKEN))
        elif way == 1:
            self.file.unlink(missing_ok=True)
        else:
            self.write(draw.sample(self.others, draw.randrange(len(self.others) + 1)), quiet=False)
        if draw.random() < 0.5:
            self.key.unlink(missing_ok=True)
        else:
            self.key.write_text("key")
        asked = draw.randrange(4)
        if asked == 0:
            self.exporter.process.send_signal(signal.SIGHUP)
        elif asked == 1:
            answer = requests.post(f"{self.exporter.url}/-/reload", timeout=PATIENCE)
            assert answer.status_code == (500 if way in (0, 1) else 200), answer.text

    def scrape(self) -> Scrape:
        """Scrape, and check what holds at every moment."""
        scrape = self.exporter.scrape()
        ended: dict[str, float] = {}
        for series, count in scrape.of(metrics.REQUESTS.name).items():
            labels = labels_of(series)
            assert labels["outcome"] != "internal" or count == 0, series
            ended[labels["target"]] = ended.get(labels["target"], 0) + count
        for series, started in scrape.of(metrics.STARTED.name).items():
            # Never two of one target and scenario at a time, and each that is not running has ended.
            assert started - ended[labels_of(series)["target"]] in (0, 1), series
        assert scrape.total(metrics.INFLIGHT.name) <= MAX_CONCURRENT
        self.reloads_seen |= set(scrape.of(metrics.CONFIG_RELOAD_SUCCESSFUL.name).values())
        return scrape

    def storm(self, seconds: float) -> None:
        """Edit and scrape until the time is up."""
        end = time.monotonic() + seconds
        edit_at = 0.0
        while (now := time.monotonic()) < end:
            if now >= edit_at:
                self.edit()
                # The server keeps what it was asked, for tests that look at it.
                self.server.requests.clear()
                edit_at = now + EDIT_EVERY_SECONDS
            self.scrape()
            time.sleep(SCRAPE_EVERY_SECONDS)

    def calm(self) -> Scrape:
        """Probe nothing more, wait until the last probe has ended, and check that each was counted."""
        self.write(self.others, quiet=True)
        last: list[Scrape] = []

        def quiet() -> bool:
            last[:] = [self.scrape()]
            intervals = last[0].of(metrics.INTERVAL.name).values()
            in_force = len(intervals) == len(BEHAVIOURS) and set(intervals) == {86400.0}
            # Those that came with this edit are probed once, over some seconds.
            probed = len(last[0].of(metrics.LAST_RUN_TIMESTAMP.name)) == len(BEHAVIOURS)
            return in_force and probed and last[0].total(metrics.INFLIGHT.name) == 0

        until(quiet, "no probe runs")
        for name in LASTING:
            labels = {"target": name.replace("_", "-")}
            assert last[0].total(metrics.STARTED.name, **labels) == last[0].total(metrics.REQUESTS.name, **labels) > 0
        return last[0]

    def idle(self) -> Resources:
        """Return what the exporter holds between two rounds in which servers are asked what engine they are."""
        held = []
        end = time.monotonic() + IDLE_WITHIN_SECONDS
        while time.monotonic() < end:
            held.append(self.exporter.resources())
            time.sleep(SCRAPE_EVERY_SECONDS)
        return min(held, key=lambda one: (one.descriptors, one.threads))


def lasts(series: str) -> bool:
    target = labels_of(series).get("target")
    return target is None or target.replace("-", "_") in LASTING


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with HostileServer() as server:
        running = Service(tmp_path, server)
        yield running
        running.exporter.kill()


def test_soak_of_the_probe_exporter(
    service: Service, seconds: float, record_property: Callable[[str, object], None]
) -> None:
    exporter = service.exporter
    service.storm(seconds / 4)
    service.calm()
    warm = service.idle()
    service.storm(seconds * 3 / 4)
    last = service.calm()
    now = service.idle()
    check_held(warm, now)
    assert now.threads <= MAX_CONCURRENT + 16
    assert exporter.peak.threads <= 3 * MAX_CONCURRENT + 32
    assert exporter.peak.descriptors <= 4 * MAX_CONCURRENT + 64

    # What was to be endured has really happened.
    assert service.reloads_seen == {0.0, 1.0}
    outcomes = {
        outcome: last.total(metrics.REQUESTS.name, outcome=outcome)
        for outcome in metrics.OUTCOMES
        if last.total(metrics.REQUESTS.name, outcome=outcome)
    }
    assert {"success", "truncated", "connection_lost", "ttft_timeout", "deadline", "not_stream", "http_5xx"} <= set(
        outcomes
    )

    service.write(service.others, quiet=False)
    until(lambda: service.scrape().total(metrics.INFLIGHT.name) > 0, "probes run again")
    took = exporter.end()
    exporter.check_log()
    counted = sum(outcomes.values())
    record_property("probe exporter, soak", f"{exporter.scrapes} scrapes, {counted:.0f} probes in the last records")
    record_property("probe exporter, held", f"warm: {warm}; at the end: {now}; most: {exporter.peak}")
    record_property("probe exporter, end", f"{took:.1f} s with probes running")

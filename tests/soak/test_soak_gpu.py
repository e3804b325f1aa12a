"""The GPU exporter with simulated GPUs that throttle, heat up, get lost and come back at random."""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from soak_watch import Scrape, Watched, check_held, until

from exporters.gpu import metrics

SEED = 11
GPUS = 8
ORDER_EVERY_SECONDS = 1.0
SCRAPE_EVERY_SECONDS = 0.25
REASONS = ("sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown")
BROKEN = (b"{0: [", b"[1, 2]", b"{0: {heat: 3}}", b"\xff\xfe")

pytestmark = pytest.mark.soak


class Fleet:
    """The exporter and the file that orders its GPUs about."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "control.yml"
        self.draw = random.Random(SEED)
        flags = (f"--simulate={GPUS}", f"--simulate.control={self.file}", "--gpu.interval=1s")
        self.exporter = Watched("exporters.gpu", folder, *flags)
        self.up_seen: set[float] = set()

    def order(self) -> None:
        """Change the file in one of the ways in which files change."""
        draw = self.draw
        way = draw.randrange(10)
        if way == 0:
            self.replace(draw.choice(BROKEN))
        elif way == 1:
            self.file.unlink(missing_ok=True)
        elif way == 2:
            self.replace(yaml.safe_dump({gpu: {"lost": True} for gpu in range(GPUS)}).encode())
        else:
            orders = {gpu: self.one() for gpu in draw.sample(range(GPUS), draw.randrange(1, GPUS))}
            self.replace(yaml.safe_dump(orders).encode())

    def one(self) -> dict[str, object]:
        draw = self.draw
        if draw.random() < 0.3:
            return {"lost": True}
        throttle = draw.sample(REASONS, draw.randrange(len(REASONS)))
        return {"throttle": throttle, "temperature": draw.randrange(30, 95), "utilization": round(draw.random(), 2)}

    def replace(self, text: bytes) -> None:
        new = self.file.with_suffix(".new")
        new.write_bytes(text)
        new.replace(self.file)

    def scrape(self) -> Scrape:
        """Scrape, and check what holds at every moment."""
        scrape = self.exporter.scrape()
        up = scrape.of(metrics.UP.name)
        assert len(up) <= GPUS
        self.up_seen |= set(up.values())
        # A GPU that is down shows nothing old as new.
        assert len(scrape.of(metrics.TEMPERATURE.name)) <= sum(up.values())
        assert scrape.total(metrics.SIMULATED.name) == 1
        return scrape

    def storm(self, seconds: float) -> None:
        """Order and scrape until the time is up."""
        end = time.monotonic() + seconds
        order_at = 0.0
        while (now := time.monotonic()) < end:
            if now >= order_at:
                self.order()
                order_at = now + ORDER_EVERY_SECONDS
            self.scrape()
            time.sleep(SCRAPE_EVERY_SECONDS)

    def calm(self) -> Scrape:
        """Give no orders, and wait until every GPU is back."""
        self.file.unlink(missing_ok=True)
        return until(lambda: (s := self.scrape()).total(metrics.UP.name) == GPUS and s, "every GPU is back")


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    running = Fleet(tmp_path)
    yield running
    running.exporter.kill()


def test_soak_of_the_gpu_exporter(fleet: Fleet, seconds: float, record_property: Callable[[str, object], None]) -> None:
    exporter = fleet.exporter
    fleet.calm()
    fleet.storm(seconds / 4)
    fleet.calm()
    warm = exporter.resources()
    fleet.storm(seconds * 3 / 4)
    last = fleet.calm()
    now = exporter.resources()
    check_held(warm, now)
    assert now.threads <= warm.threads + 4, f"{warm} -> {now}"
    assert fleet.up_seen == {0.0, 1.0}
    assert last.total(metrics.CLOCKS_EVENT_SECONDS.name, reason="hw_thermal_slowdown") > 0
    assert last.total(metrics.NVML_ERRORS.name) > 0

    fleet.order()
    took = exporter.end()
    exporter.check_log()
    failed = last.total(metrics.NVML_ERRORS.name)
    record_property(
        "GPU exporter, soak", f"{exporter.scrapes} scrapes, {failed:.0f} calls that lost GPUs did not answer"
    )
    record_property("GPU exporter, held", f"warm: {warm}; at the end: {now}; most: {exporter.peak}")
    record_property("GPU exporter, end", f"{took:.1f} s")

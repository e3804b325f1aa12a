"""One thread samples all GPUs; one that hangs stops the sampling of no other."""

import time
from collections.abc import Iterator

import pytest
from gpu_fakes import LOST, UNSUPPORTED, FakeDevice, wait_until

from exporters.gpu import reasons
from exporters.gpu.integrator import ReasonIntegrator
from exporters.gpu.sampler import HANGS_SECONDS, ReasonSampler

HOT = reasons.BITS["hw_thermal_slowdown"]


class Running:
    """A sampler at work, and what it has counted."""

    def __init__(self) -> None:
        self.integrators: dict[str, ReasonIntegrator] = {}
        self.sampler = ReasonSampler(100, self.integrators)
        self.sampler.start()

    def episodes(self, gpu: int) -> int | None:
        """Return how often GPU `gpu` became hot; None while it is not sampled."""
        integrator = self.integrators.get(f"GPU-{gpu}")
        totals = integrator.totals(0.0) if integrator else None
        return totals.episodes["hw_thermal_slowdown"] if totals else None

    def is_seen(self, device: FakeDevice, gpu: int) -> None:
        """Wait until one more episode is seen."""
        wait_until(lambda: self.episodes(gpu) is not None)
        before = self.episodes(gpu)
        assert before is not None
        device.answers["clocks_event_reasons"] = HOT
        wait_until(lambda: self.episodes(gpu) == before + 1)
        device.answers["clocks_event_reasons"] = 0
        integrator = self.integrators[f"GPU-{gpu}"]
        wait_until(lambda: integrator._mask == 0)


@pytest.fixture
def running() -> Iterator[Running]:
    made = Running()
    yield made
    made.sampler.stop()
    assert made.sampler.join(30)


def test_all_gpus_are_sampled_by_one_thread(running: Running) -> None:
    devices = [FakeDevice(0), FakeDevice(1)]
    for gpu, device in enumerate(devices):
        running.sampler.sample(str(gpu), device)
    for gpu, device in enumerate(devices):
        running.is_seen(device, gpu)
        running.is_seen(device, gpu)
    assert not running.sampler.died()


@pytest.mark.parametrize("error", [LOST, UNSUPPORTED])
def test_one_that_fails_is_left_out_until_it_is_given_again(running: Running, error: Exception) -> None:
    good, bad = FakeDevice(0), FakeDevice(1)
    for gpu, device in (("0", good), ("1", bad)):
        running.sampler.sample(gpu, device)
    running.is_seen(bad, 1)
    bad.answers["clocks_event_reasons"] = error
    wait_until(lambda: running.episodes(1) is None)
    running.is_seen(good, 0)
    bad.answers["clocks_event_reasons"] = 0
    running.sampler.sample("1", bad)
    running.is_seen(bad, 1)


def test_one_that_hangs_is_left_behind_and_the_others_go_on(running: Running) -> None:
    good, bad = FakeDevice(0), FakeDevice(1)
    for gpu, device in (("0", good), ("1", bad)):
        running.sampler.sample(gpu, device)
    running.is_seen(bad, 1)
    running.is_seen(good, 0)
    bad.hang()
    sampler = running.sampler
    wait_until(lambda: sampler._call is not None and time.monotonic() - sampler._call.since > HANGS_SECONDS)
    sampler.relieve(time.monotonic())
    running.is_seen(good, 0)
    assert running.episodes(1) is None
    assert not sampler.died()
    # A call still hangs, and nobody may shut NVML down beneath it.
    assert not any(thread.join(0) or not thread.is_alive() for thread in sampler._left_behind)
    bad.resume()
    sampler.sample("1", bad)
    running.is_seen(bad, 1)
    running.is_seen(good, 0)


def test_a_call_that_is_only_slow_is_waited_for(running: Running) -> None:
    device = FakeDevice(0)
    running.sampler.sample("0", device)
    running.is_seen(device, 0)
    running.sampler.relieve(time.monotonic())
    assert running.sampler._left_behind == []


def test_no_rate_samples_nothing() -> None:
    sampler = ReasonSampler(0, {})
    sampler.start()
    sampler.sample("0", FakeDevice(0))
    sampler.relieve(time.monotonic() + 60)
    assert not sampler.died()
    sampler.stop()
    assert sampler.join(1)

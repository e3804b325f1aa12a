from gpu_fakes import FakeDevice, collect_with, values
from hypothesis import given
from hypothesis import strategies as st

from exporters.gpu import metrics
from exporters.gpu.answers import Observed
from exporters.gpu.collectors import window
from exporters.gpu.collectors.window import SECOND, Window, Windows
from exporters.gpu.tally import Tally


def observed(*pairs: tuple[float, int]) -> list[Observed]:
    return [Observed(round(at * SECOND), value) for at, value in pairs]


def test_a_burst_between_two_collections_is_seen_and_ages_out() -> None:
    device = FakeDevice()
    collector = window.utilization(30)
    device.answers["utilization_percent"] = observed((1, 10), (2, 100), (3, 10))
    assert values(collect_with(collector, device)) == {
        metrics.UTILIZATION_MAX: 1,
        metrics.UTILIZATION_AVG: 0.4,
    }
    device.answers["utilization_percent"] = observed((31.5, 10))
    assert values(collect_with(collector, device))[metrics.UTILIZATION_MAX] == 1
    device.answers["utilization_percent"] = observed((32.5, 10))
    assert values(collect_with(collector, device))[metrics.UTILIZATION_MAX] == 0.1


def test_collecting_twice_changes_nothing() -> None:
    device = FakeDevice()
    collector = window.power(30)
    device.answers["power_milliwatts"] = observed((1, 300_000), (2, 650_000))
    first = values(collect_with(collector, device))
    assert first == values(collect_with(collector, device)) == {metrics.POWER_MAX: 650}


def test_a_driver_that_took_no_sample_for_a_window_has_no_value() -> None:
    device, now = FakeDevice(), [0.0]
    windows = Windows("utilization_percent", 30, 100, clock=lambda: now[0])
    found: list[list[int]] = []
    device.answers["utilization_percent"] = observed((1, 50))
    for now[0] in (0.0, 29.0, 60.0):
        collect_with(lambda gpu: found.append(windows.values(gpu)), device)
        device.answers["utilization_percent"] = []
    assert found == [[50], [50], []]


def test_a_sample_that_cannot_be_is_left_out_and_counted() -> None:
    device, tally = FakeDevice(), Tally()
    device.answers["utilization_percent"] = observed((1, 2**32 - 1), (2, 50))
    found = values(collect_with(window.utilization(30), device, tally))
    assert found[metrics.UTILIZATION_MAX] == 0.5
    assert tally.rejected() == 1


def test_the_windows_of_two_gpus_are_apart() -> None:
    collector = window.utilization(30)
    busy, idle = FakeDevice(0), FakeDevice(1)
    busy.answers["utilization_percent"] = observed((1, 100))
    idle.answers["utilization_percent"] = observed((1, 0))
    assert values(collect_with(collector, busy))[metrics.UTILIZATION_MAX] == 1
    assert values(collect_with(collector, idle))[metrics.UTILIZATION_MAX] == 0


@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 200), st.integers(0, 100)), max_size=20),
        max_size=10,
    )
)
def test_a_window_holds_what_is_new_and_not_too_old(batches: list[list[tuple[int, int]]]) -> None:
    kept = Window(30)
    for batch in batches:
        before = kept.newest
        kept.add(observed(*batch))
        newest = max([before, *(at * SECOND for at, _ in batch)])
        assert kept.newest == newest
        assert len(kept.values) <= 30

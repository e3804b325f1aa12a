import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.gpu import reasons
from exporters.gpu.integrator import ReasonIntegrator, ReasonTotals

HOT = reasons.BITS["hw_thermal_slowdown"]
CAP = reasons.BITS["sw_power_cap"]


def totals(integrator: ReasonIntegrator) -> ReasonTotals:
    found = integrator.totals(oldest=float("-inf"))
    assert found is not None
    return found


@given(phase=st.floats(min_value=0, max_value=0.0999))
def test_an_episode_of_300_ms_is_seen_at_any_phase(phase: float) -> None:
    integrator = ReasonIntegrator(reasons.COMMON, longest_gap=0.5)
    for sample in range(150):
        at = sample * 0.1
        integrator.observe(HOT if 7.0 + phase <= at < 7.3 + phase else 0, at)
    seen = totals(integrator)
    assert seen.episodes["hw_thermal_slowdown"] == 1
    assert seen.seconds["hw_thermal_slowdown"] == pytest.approx(0.3, abs=0.1 + 1e-6)
    assert seen.seconds["sw_power_cap"] == 0


def test_a_stalled_sampler_does_not_invent_time() -> None:
    integrator = ReasonIntegrator(reasons.COMMON, longest_gap=0.5)
    integrator.observe(HOT, 0.0)
    integrator.observe(HOT, 30.0)
    assert totals(integrator).seconds["hw_thermal_slowdown"] == 0.5
    assert totals(integrator).episodes["hw_thermal_slowdown"] == 1


def test_the_time_in_which_nobody_looked_does_not_count() -> None:
    integrator = ReasonIntegrator(reasons.COMMON, longest_gap=0.5)
    integrator.observe(HOT, 0.0)
    integrator.interrupt()
    integrator.observe(HOT, 0.2)
    assert totals(integrator).seconds["hw_thermal_slowdown"] == 0
    integrator.observe(0, 0.3)
    assert totals(integrator).seconds["hw_thermal_slowdown"] == pytest.approx(0.1)


def test_each_reason_has_episodes_of_its_own() -> None:
    integrator = ReasonIntegrator(reasons.COMMON, longest_gap=1)
    for at, mask in enumerate([HOT, HOT | CAP, CAP, 0, HOT]):
        integrator.observe(mask, float(at))
    assert totals(integrator).episodes["hw_thermal_slowdown"] == 2
    assert totals(integrator).episodes["sw_power_cap"] == 1
    assert totals(integrator).seconds["hw_thermal_slowdown"] == 2


def test_old_totals_are_not_served() -> None:
    integrator = ReasonIntegrator(reasons.COMMON, longest_gap=1)
    assert integrator.totals(oldest=0) is None
    integrator.observe(0, 10.0)
    assert integrator.totals(oldest=9) is not None
    assert integrator.totals(oldest=11) is None


@given(
    st.lists(st.tuples(st.integers(min_value=0, max_value=0x7FF), st.floats(min_value=-1, max_value=100)), max_size=50)
)
def test_totals_never_fall_and_never_exceed_the_elapsed_time(samples: list[tuple[int, float]]) -> None:
    integrator = ReasonIntegrator(0x7FF, longest_gap=0.5)
    at = elapsed = 0.0
    before = dict.fromkeys(reasons.BITS, 0.0)
    for number, (mask, step) in enumerate(samples):
        at += step
        elapsed += min(max(step, 0), 0.5) if number else 0.0
        integrator.observe(mask, at)
        now = totals(integrator).seconds
        assert all(before[name] <= now[name] <= elapsed + 1e-6 for name in now)
        before = now


@given(
    st.lists(st.tuples(st.integers(min_value=0, max_value=0x7FF), st.floats(min_value=0, max_value=1)), max_size=50),
    st.integers(min_value=0, max_value=0x7FF),
)
def test_looking_at_the_totals_on_the_way_changes_nothing(samples: list[tuple[int, float]], supported: int) -> None:
    watched = ReasonIntegrator(supported, longest_gap=0.5)
    alone = ReasonIntegrator(supported, longest_gap=0.5)
    at, last = 0.0, (0, 0.0)
    expected = dict.fromkeys(reasons.names(supported), 0.0)
    for mask, step in [*samples, (0, 0.0)]:
        at += step
        for name in reasons.names(last[0] & supported):
            expected[name] += min(at - last[1], 0.5)
        for integrator in (watched, alone):
            integrator.observe(mask, at)
        totals(watched)
        last = mask, at
    assert totals(watched).episodes == totals(alone).episodes
    assert totals(watched).seconds == pytest.approx(expected)
    assert totals(alone).seconds == pytest.approx(expected)

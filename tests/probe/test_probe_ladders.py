"""The bounds of the probes' histograms: how far apart, up to where, and that the coarse are among the fine."""

import itertools

import pytest

from exporters.probe.metrics.ladders import COARSE, FINE, LADDERS, Ladders, ladder
from inferwatch.config.model import Prober
from inferwatch.config.objectives import LARGEST_SLO_SECONDS, SLO_NAMES


def factors(bounds: tuple[float, ...], below: float) -> list[float]:
    return [later / earlier for earlier, later in itertools.pairwise(bounds) if later < below]


def test_a_ladder_reaches_its_ends() -> None:
    assert ladder(1.0, (2.0, 4.0), (10.0, 300.0)) == (1.0, 2.0, 4.0, 40.0, 400.0)
    assert ladder(0.1, (1.3333, 0.2)) == (0.1, 0.133, 0.178, 0.237)


def test_fine_ladders_show_a_change_of_a_quarter_where_users_wait() -> None:
    for bounds, below in ((FINE.ttft, 10.5), (FINE.tpot, 0.27)):
        assert all(1.24 < factor < 1.26 for factor in factors(bounds, below))
        assert max(factors(bounds, float("inf"))) < 1.62


@pytest.mark.parametrize("ladders", LADDERS.values())
def test_every_objective_can_be_told_from_what_is_slower(ladders: Ladders) -> None:
    for name in SLO_NAMES:
        assert getattr(ladders, name)[-1] >= LARGEST_SLO_SECONDS[name]


def test_series_go_on_when_the_choice_changes() -> None:
    for name in SLO_NAMES:
        assert {*getattr(COARSE, name)} <= {*getattr(FINE, name)}
    assert set(LADDERS) == {"fine", "coarse"} and LADDERS[Prober().buckets] is FINE

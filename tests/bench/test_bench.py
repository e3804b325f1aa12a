"""The quantiles are those that they claim to be, ratios are judged, and our ladders show what their comment says."""

import random

import pytest

from bench import buckets, report


@pytest.mark.parametrize(
    ("share", "values", "expected"),
    [
        (0.5, [1.5] * 4, 1.5),  # all in the bucket from 1 to 2, of which half the rank is the middle
        (0.25, [0.1, 1.5, 1.6, 1.7], 1.0),  # the rank is the whole first bucket, which begins at 0
        (0.75, [0.1, 1.5, 1.5, 3.0], 2.0),
        (0.5, [2.0, 2.0], 1.5),  # a value at a bound belongs to the bucket below it
        (0.5, [3.0, 3.0], 3.0),
        (0.9, [9.0, 9.0], 4.0),  # beyond the last bound
    ],
)
def test_histogram_quantile(share, values, expected):
    assert buckets.histogram_quantile(share, [1.0, 2.0, 4.0], values) == pytest.approx(expected)


def test_a_fine_ladder_gives_the_quantile_itself():
    draw = random.Random(1)
    values = sorted(draw.uniform(0, 10) for _ in range(1000))
    fine = [index / 1000 for index in range(1, 10001)]
    assert buckets.histogram_quantile(0.95, fine, values) == pytest.approx(values[949], abs=0.01)


def test_our_ladders_show_a_change_as_stated(capsys):
    assert buckets.main() == 0
    assert "FAILS" not in capsys.readouterr().out


def test_nearest_rank():
    values = list(range(1, 101))
    assert [report.quantile(values, share) for share in (0.0, 0.5, 0.99, 1.0)] == [1, 50, 99, 100]


def test_a_ratio_outside_its_band_fails(capsys):
    inside, outside = report.Ratio("inside", 1.0, 1.0, 2.0), report.Ratio("outside", 2.1, 1.0, 2.0)
    assert (report.judge([inside]), report.judge([inside, outside])) == (0, 1)
    assert "FAILS  outside: 2.1, allowed 1 to 2" in capsys.readouterr().out

"""How a true change of a median by 20 % shows through histogram buckets: `python -m bench.buckets`.

Simulated answers, seeded: no server, no clock. For each of many medians, 400 times are drawn around it and put into the
ladder; then the same times, each 1.2 times as long. What differs from 1.20 is the ladder's doing alone.
"""

import math
import random
import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from prometheus_client import Histogram

from bench.report import Ratio, judge, quantile, show_table
from exporters.probe.metrics.ladders import COARSE, FINE

SEED = 20
MEDIANS = 300
ANSWERS = 400
SIGMA = 0.15  # of the logarithm: a server under a steady load
CHANGE = 1.2

PROMETHEUS_DEFAULT = Histogram.DEFAULT_BUCKETS[:-1]
# vLLM 0.33.0, vllm/v1/metrics/buckets.py
VLLM_TTFT = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
             80.0, 160.0, 640.0, 2560.0)  # fmt: skip

# What a ladder of factor 1.25 must show of 1.20; exporters/probe/metrics/ladders.py says so.
SHOWN_BAND = (1.17, 1.22)


@dataclass(frozen=True)
class Case:
    """A ladder and the medians, in seconds, from `low` to `high` (evenly in their logarithm) that it is tried on."""

    name: str
    bounds: Sequence[float]
    low: float
    high: float
    judged: bool = False


CASES = (
    Case("TTFT, fine (factor 1.25)", FINE.ttft, 0.06, 7.0, judged=True),
    Case("TTFT, fine, above 10 s (1.6)", FINE.ttft, 12.0, 40.0),
    Case("TTFT, coarse (factor 1.56)", COARSE.ttft, 0.06, 7.0),
    Case("TTFT, vLLM", VLLM_TTFT, 0.06, 7.0),
    Case("TTFT, Prometheus client's default", PROMETHEUS_DEFAULT, 0.06, 7.0),
    Case("TPOT, fine (factor 1.25)", FINE.tpot, 0.005, 0.18, judged=True),
    Case("TPOT, fine, above 0.25 s (1.6)", FINE.tpot, 0.3, 0.7),
    Case("TPOT, coarse (factor 1.56)", COARSE.tpot, 0.005, 0.18),
    Case("TPOT, Prometheus client's default", PROMETHEUS_DEFAULT, 0.005, 0.18),
    Case("E2E, both (factor 1.6)", FINE.e2e, 0.5, 50.0),
    Case("E2E, Prometheus client's default", PROMETHEUS_DEFAULT, 0.5, 8.0),
)


def histogram_quantile(share: float, bounds: Sequence[float], ordered: Sequence[float]) -> float:
    """Return what PromQL's histogram_quantile gives for these values, sorted, in classic buckets with these bounds.

    It interpolates linearly inside the bucket, from 0 in the first; beyond the last bound it returns that bound.
    """
    rank = share * len(ordered)
    below, lower = 0, 0.0
    for bound in bounds:
        upto = bisect_left(ordered, math.nextafter(bound, math.inf))
        if upto >= rank and upto > below:
            return lower + (bound - lower) * (rank - below) / (upto - below)
        below, lower = upto, bound
    return bounds[-1]


def measure(case: Case) -> tuple[list[float], list[float], list[float]]:
    """Return the relative errors of p50 and of p95, and the change of p50 that shows, for each median."""
    draw = random.Random(SEED)
    errors50, errors95, shown = [], [], []
    for _ in range(MEDIANS):
        middle = math.exp(draw.uniform(math.log(case.low), math.log(case.high)))
        answers = sorted(draw.lognormvariate(math.log(middle), SIGMA) for _ in range(ANSWERS))
        slower = [CHANGE * answer for answer in answers]
        p50 = histogram_quantile(0.5, case.bounds, answers)
        errors50.append(abs(p50 / median(answers) - 1))
        errors95.append(abs(histogram_quantile(0.95, case.bounds, answers) / quantile(answers, 0.95) - 1))
        shown.append(histogram_quantile(0.5, case.bounds, slower) / p50)
    return errors50, errors95, shown


def main() -> int:
    """Print the table and judge our ladders."""
    print(
        f"{MEDIANS} medians, {ANSWERS} simulated answers each, sigma {SIGMA}, seed {SEED}; a true change of {CHANGE:g}"
    )
    rows, ratios = [], []
    for case in CASES:
        errors50, errors95, shown = measure(case)
        low, high = quantile(shown, 0.05), quantile(shown, 0.95)
        rows.append([
            case.name,
            str(len(case.bounds) + 1),
            f"{100 * median(errors50):.1f} / {100 * max(errors50):.1f}",
            f"{100 * median(errors95):.1f} / {100 * max(errors95):.1f}",
            f"{median(shown):.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{min(shown):.2f} to {max(shown):.2f}",
        ])  # fmt: skip
        if case.judged:
            ratios += [
                Ratio(f"{case.name}: {which} of what {CHANGE:g} shows as", round(value, 2), *SHOWN_BAND)
                for which, value in (("the least", min(shown)), ("the most", max(shown)))
            ]
    show_table(
        "Errors in %: median / worst. The change of p50 that shows: median, 5th to 95th percentile, least to most.",
        ["ladder", "buckets", "error p50", "error p95", "shown", "5 to 95 %", "all"],
        rows,
    )
    return judge(ratios)


if __name__ == "__main__":
    sys.exit(main())

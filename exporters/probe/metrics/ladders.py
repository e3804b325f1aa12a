"""The buckets of the probes' histograms: a fine ladder, and a coarse one for those who count their series.

A factor of 1.25 shows a change of 20 % in a median as 17 to 22 %; `python -m bench.buckets` shows it of each ladder.
"""

from dataclasses import dataclass

from inferwatch.config.model import Buckets

Bounds = tuple[float, ...]


def ladder(first: float, *steps: tuple[float, float]) -> Bounds:
    """Return geometric bounds with three significant digits.

    Args:
        first: The lowest bound.
        steps: Each a factor, and up to which value it is used: the first bound that reaches it is the last with it.
    """
    bounds = [first]
    for factor, last in steps:
        start, steps_taken = bounds[-1], 0
        while bounds[-1] < last:
            steps_taken += 1
            bounds.append(float(f"{start * factor**steps_taken:.3g}"))
    return tuple(bounds)


@dataclass(frozen=True)
class Ladders:
    """The upper bounds of the three latencies in seconds, without +Inf."""

    ttft: Bounds
    tpot: Bounds
    e2e: Bounds


# What is slower than a user waits for (10 s to the first token, 4 tokens a second) is slow, whatever its third digit.
FINE = Ladders(
    ttft=ladder(0.02, (1.25, 10.0), (1.6, 60.0)),
    tpot=ladder(0.001, (1.25, 0.25), (1.6, 1.0)),
    e2e=ladder(0.1, (1.6, 100.0)),
)
# Each second bound of the fine one, so that a series goes on when the choice changes. E2E is coarse as it is.
COARSE = Ladders(ttft=FINE.ttft[::2], tpot=FINE.tpot[::2], e2e=FINE.e2e)

LADDERS: dict[Buckets, Ladders] = {"fine": FINE, "coarse": COARSE}

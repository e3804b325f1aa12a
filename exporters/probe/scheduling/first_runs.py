"""How soon first probes run: as soon as there is room for them, so that none waits into a misfire."""

import math
from collections.abc import Collection, Mapping

from exporters.probe.key import Key

# A fresh stack shows numbers soon, also where all could run at once.
SOONEST_SECONDS = 3.0
# What of the places first runs may take on average: they are spread by chance, so at times more are due than that.
SHARE = 0.75


def first_within(
    intervals: Mapping[Key, float], lasting: Mapping[Key, float], fresh: Collection[Key], places: int
) -> float:
    """Return over how many seconds the first runs are to be spread; each over its own interval at most.

    A first run that may come at any time within w seconds takes duration / min(w, interval) places on average (Little's
    law), as one that is probed already takes duration / interval. The least w is returned with which there is room for
    all; infinity if there is none for what is probed later either, which `inferwatch check` tells.

    Args:
        intervals: Seconds between two probes of each key.
        lasting: How many seconds a probe of each key is expected to take.
        fresh: The keys that were never probed.
        places: How many probes may run at the same time.
    """
    room = SHARE * places - sum(lasting[key] / intervals[key] for key in intervals.keys() - fresh)
    work = sum(lasting[key] for key in fresh)
    # With w above the shortest intervals, their keys take what they take later too, whatever w is.
    for key in sorted(fresh, key=lambda key: intervals[key]):
        if work <= room * intervals[key]:
            return max(SOONEST_SECONDS, work / room)
        room -= lasting[key] / intervals[key]
        work -= lasting[key]
    return math.inf

"""How soon first probes run: as soon as there is room for them, so that none waits into a misfire."""

from collections.abc import Collection, Mapping

from exporters.probe.key import Key

# A fresh stack shows numbers soon, also where all could run at once.
SOONEST_SECONDS = 3.0
# What of the places first runs may take on average: they are spread by chance, so at times more are due than that.
SHARE = 0.75
# Within so many, where that is too little even for what is probed later.
LATEST_SECONDS = 900.0


def first_within(
    intervals: Mapping[Key, float], lasting: Mapping[Key, float], fresh: Collection[Key], places: int
) -> dict[Key, float]:
    """Return within how many seconds each fresh key is to run first; an interval of its own at most.

    Short probes wait only for those that are as short: in their few seconds hardly a long one has begun.

    Args:
        intervals: Seconds between two probes of each key.
        lasting: How many seconds a probe of each key is expected to take.
        fresh: The keys that were never probed.
        places: How many probes may run at the same time.
    """
    # A probe that is due while the last one runs is skipped.
    takes = {key: min(lasting[key], interval) for key, interval in intervals.items()}
    probed = sum(takes[key] / intervals[key] for key in intervals.keys() - fresh)
    found = {}
    for longest in sorted({takes[key] for key in fresh}):
        as_short = {key: takes[key] for key in fresh if takes[key] <= longest}
        within = max(_spread(SHARE * places - probed, as_short, intervals), SOONEST_SECONDS)
        found.update({key: min(within, intervals[key]) for key in fresh if takes[key] == longest})
    return found


def _spread(room: float, takes: Mapping[Key, float], intervals: Mapping[Key, float]) -> float:
    """Return the least seconds over which first runs can be spread; LATEST_SECONDS if there is no room later either.

    One that may come at any time within w seconds takes duration / min(w, interval) places on average (Little's law),
    as one that is probed already takes duration / interval.
    """
    work = sum(takes.values())
    # With w above the shortest intervals, their keys take what they take later too, whatever w is.
    for key in sorted(takes, key=lambda key: intervals[key]):
        if work <= room * intervals[key]:
            return work / room
        room -= takes[key] / intervals[key]
        work -= takes[key]
    return LATEST_SECONDS

"""How often the servers of each target answered with which status."""

import threading
from collections import Counter
from collections.abc import Collection, Mapping
from http import HTTPStatus

USUAL = str(HTTPStatus.OK.value)
# A server that makes up statuses must not make up series.
MOST_CODES = 12
OTHER = "other"


class Responses:
    """Counts by target and code; the counts of a target go on while it is configured."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[str]] = {}

    def apply(self, targets: Collection[str]) -> None:
        """Drop the targets that are configured no more, and begin with 0 for those that are new."""
        with self._lock:
            self._counts = {name: self._counts.get(name) or Counter({USUAL: 0}) for name in targets}

    def count(self, target: str, status: int | None) -> None:
        """Count what a probe was answered; None is a probe without an answer."""
        with self._lock:
            counts = self._counts.get(target)
            if status is None or counts is None:
                return
            code = str(status)
            counts[code if code in counts or len(counts) < MOST_CODES else OTHER] += 1

    def all(self) -> Mapping[str, Mapping[str, int]]:
        """Return a copy of the counts by target and code."""
        with self._lock:
            return {target: dict(counts) for target, counts in self._counts.items()}

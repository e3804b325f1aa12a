"""What went wrong since the exporter started, counted over all GPUs."""

import threading
from collections import Counter

from exporters.gpu.errors import DriverError


class Tally:
    """Counts failed calls and rejected values; safe to use from several threads."""

    def __init__(self) -> None:
        self._errors: Counter[tuple[str, str]] = Counter()
        self._rejected = 0
        self._lock = threading.Lock()

    def failed(self, error: DriverError) -> None:
        """Count a call that failed; one that is not supported does not belong here."""
        with self._lock:
            self._errors[error.function, error.name] += 1

    def rejected_value(self) -> None:
        """Count a value that was out of range."""
        with self._lock:
            self._rejected += 1

    def errors(self) -> dict[tuple[str, str], int]:
        """Return how often each call failed, by function and the code's name."""
        with self._lock:
            return dict(self._errors)

    def rejected(self) -> int:
        """Return how many values were out of range."""
        with self._lock:
            return self._rejected

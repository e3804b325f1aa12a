"""One collection of one GPU: the collectors ask and add, and what comes out is a snapshot that never changes."""

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from exporters.gpu import metrics
from exporters.gpu.driver import Device
from exporters.gpu.errors import (
    DriverError,
    PermissionDeniedError,
    StillDeniedError,
    TransientError,
    UnsupportedError,
)
from exporters.gpu.tally import Tally
from inferwatch.metric import Metric

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Sample:
    """One value of a metric; `labels` are the values of the labels after `gpu` and `uuid`."""

    metric: Metric
    labels: tuple[str, ...]
    value: float


@dataclass(frozen=True)
class CollectorRun:
    """How one collector did on one GPU."""

    success: bool
    seconds: float


@dataclass(frozen=True)
class Snapshot:
    """What one collection found.

    Attributes:
        samples: What was found and passed its range check.
        runs: Each collector's run by its name.
    """

    samples: tuple[Sample, ...]
    runs: Mapping[str, CollectorRun]


class Notices:
    """Says each thing about one GPU once, so that a fault that lasts does not fill the log."""

    def __init__(self, gpu: str) -> None:
        self._gpu = gpu
        self._said: set[str] = set()

    def first(self, key: str) -> bool:
        """Return whether this key is used for the first time."""
        if key in self._said:
            return False
        self._said.add(key)
        return True

    def warn(self, key: str, message: str) -> None:
        """Log the message unless this key was used before."""
        if self.first(key):
            log.warning("GPU %s: %s", self._gpu, message)


class Collection:
    """What a collector is given: the device to ask, and where to put what it answers."""

    def __init__(self, device: Device, notices: Notices, tally: Tally) -> None:
        self.device = device
        self.notices = notices
        self._tally = tally
        self._samples: list[Sample] = []
        self._errors: list[DriverError] = []
        self._features: dict[str, bool] = {}

    def ask(self, call: Callable[[], T], feature: str = "") -> T | None:
        """Return the answer, or None when there is none; a dead GPU or driver raises, and ends the collection.

        Args:
            call: What to ask.
            feature: What is known of the GPU by whether it supports the call, as `gpu_capability` names it.
        """
        try:
            answer = call()
        except UnsupportedError:
            self._can(feature, False)
            return None
        except DriverError as error:
            if not isinstance(error, StillDeniedError):
                self._tally.failed(error)
            if not isinstance(error, PermissionDeniedError | TransientError):
                raise
            self._errors.append(error)
            if isinstance(error, PermissionDeniedError):
                self.notices.warn(error.function, f"{error}; start the exporter with the right to ask, or do without")
            return None
        self._can(feature, True)
        return answer

    def know(self, feature: str, supported: bool) -> None:
        """Say whether the GPU has a feature, where no return code tells."""
        self._features[feature] = supported

    def add(self, metric: Metric, value: float, *labels: str, at_least: float = 0.0, at_most: float = math.inf) -> bool:
        """Keep a value if it is in range, else leave it absent and count it; return whether it was kept."""
        if at_least <= value <= at_most:
            self._samples.append(Sample(metric, labels, value))
            return True
        self._tally.rejected_value()
        self.notices.warn(
            f"range {metric.name}",
            f"{metric.name} read {value:g}, which cannot be (allowed: {at_least:g} to {at_most:g}); it is left out",
        )
        return False

    def reject(self, what: str) -> None:
        """Count a value that cannot be and is not exported by itself."""
        self._tally.rejected_value()
        self.notices.warn(f"range {what}", f"a {what} was out of range; it is left out")

    def add_scaled(
        self,
        metric: Metric,
        read: Callable[[], float],
        scale: float,
        *labels: str,
        at_least: float = 0.0,
        at_most: float = math.inf,
        feature: str = "",
    ) -> None:
        """Ask for one value and keep it in base units."""
        value = self.ask(read, feature)
        if value is not None:
            self.add(metric, value * scale, *labels, at_least=at_least, at_most=at_most)

    def run(self, collectors: "Mapping[str, Collect]") -> Snapshot:
        """Run every collector.

        Raises:
            DriverError: When the GPU or the driver is dead, or when calls failed and the driver answered none.
        """
        runs = {}
        answered = self.device.answered
        for name, collect in collectors.items():
            errors, began = len(self._errors), time.monotonic()
            success = self._run_one(name, collect)
            runs[name] = CollectorRun(success and len(self._errors) == errors, time.monotonic() - began)
        if self._errors and self.device.answered == answered:
            raise self._errors[-1]
        for feature, supported in self._features.items():
            self.add(metrics.CAPABILITY, float(supported), feature)
        return Snapshot(tuple(self._samples), runs)

    def _can(self, feature: str, supported: bool) -> None:
        if feature:
            self._features.setdefault(feature, supported)

    def _run_one(self, name: str, collect: "Collect") -> bool:
        try:
            collect(self)
        except DriverError:
            raise
        except Exception:
            # A fault of one collector must not take the others' metrics away.
            if self.notices.first(f"fault {name}"):
                log.exception("the collector %s failed; this is a fault of the exporter, please report it", name)
            return False
        return True


Collect = Callable[[Collection], None]

"""Money that targets cost, accrued: the integral of the hourly price over time, which no price change can rewrite."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from inferwatch.config import Config, Target

Basis = Literal["per_gpu_hour", "per_hour"]
# A process that was frozen does not know what its targets cost meanwhile, so it does not claim to.
LONGEST_CATCH_UP = 60.0


@dataclass(frozen=True)
class Price:
    """What a target costs an hour, used or not.

    Attributes:
        component: What is paid for: "gpu" when the price is per GPU, else "all".
    """

    target: str
    currency: str
    basis: Basis
    component: str
    per_hour: float


def price_of(target: Target) -> Price | None:
    """Return the target's price by the hour, or None if the file gives none."""
    cost = target.cost
    if cost is None or cost.is_per_token:
        return None
    if cost.per_gpu_hour is not None:
        gpus = target.gpus.number if target.gpus else 0.0
        return Price(target.name, cost.currency, "per_gpu_hour", "gpu", cost.per_gpu_hour * gpus)
    return Price(target.name, cost.currency, "per_hour", "all", cost.per_hour or 0.0)


class CostMeter:
    """Accrues the prices of the configuration in force.

    Args:
        clock: Returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._at = clock()
        self._prices: dict[tuple[str, str, str], Price] = {}
        self._accrued: dict[tuple[str, str, str], float] = {}

    def apply(self, config: Config) -> None:
        """Take over the prices; what a target with the same currency and basis has cost so far is kept."""
        prices = [price for target in config.targets if (price := price_of(target)) is not None]
        with self._lock:
            self._advance()
            self._prices = {(price.target, price.currency, price.basis): price for price in prices}
            self._accrued = {key: self._accrued.get(key, 0.0) for key in self._prices}

    def tick(self) -> None:
        """Accrue up to now; to be called more often than every LONGEST_CATCH_UP seconds."""
        with self._lock:
            self._advance()

    def accrued(self) -> list[tuple[Price, float]]:
        """Return each price and the money accrued up to now."""
        with self._lock:
            self._advance()
            return [(price, self._accrued[key]) for key, price in self._prices.items()]

    def _advance(self) -> None:
        now = self._clock()
        hours = min(max(now - self._at, 0.0), LONGEST_CATCH_UP) / 3600
        self._at = now
        for key, price in self._prices.items():
            self._accrued[key] += price.per_hour * hours

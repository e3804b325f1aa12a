"""Objectives of latency."""

from typing import Literal

from pydantic import field_validator, model_validator

from inferwatch.config.fields import Seconds
from inferwatch.durations import format_duration
from inferwatch.strict_yaml import Finding, FindingsError, Strict

SloName = Literal["ttft", "tpot", "e2e"]
SLO_NAMES: tuple[SloName, ...] = ("ttft", "tpot", "e2e")
# Where the probes' histograms end (exporters/probe/metrics/ladders.py): a quantile above could not be told from it.
LARGEST_SLO_SECONDS: dict[SloName, float] = {"ttft": 60.0, "tpot": 1.0, "e2e": 100.0}
RECORDED_QUANTILES = (0.5, 0.95, 0.99)


class SloTarget(Strict):
    """The share `quantile` of requests must be at or under `threshold` seconds."""

    threshold: Seconds
    quantile: float = 0.95

    @field_validator("quantile")
    @classmethod
    def _recorded_quantile(cls, value: float) -> float:
        if value not in RECORDED_QUANTILES:
            raise ValueError(f"{value} is not recorded; write 0.5, 0.95 or 0.99")
        return value


class Slo(Strict):
    """Latency objectives of one target; each is optional."""

    ttft: SloTarget | None = None
    tpot: SloTarget | None = None
    e2e: SloTarget | None = None

    @model_validator(mode="after")
    def _measurable(self) -> "Slo":
        found: list[Finding] = []
        for name, largest in LARGEST_SLO_SECONDS.items():
            objective = getattr(self, name)
            if objective is not None and objective.threshold > largest:
                limit = format_duration(largest)
                found.append(((name, "threshold"), f"probes measure {name} up to {limit}; write at most {limit}"))
        return FindingsError.raised(found, self)

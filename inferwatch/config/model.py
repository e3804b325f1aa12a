"""What `inferwatch.yml` may hold. Unknown keys are errors; the nearest value wins: scenario, target, defaults."""

from typing import Literal

from pydantic import Field, model_validator

from inferwatch.config.built_in import BUILT_IN_SCENARIOS
from inferwatch.config.connection import Connection
from inferwatch.config.consistency import findings
from inferwatch.config.fields import Address, Interval, Name, Text, Timeout
from inferwatch.config.scenario import Scenario
from inferwatch.config.target import Target
from inferwatch.strict_yaml import FindingsError, Strict

Buckets = Literal["fine", "coarse"]
# What a scenario takes from its target, and a target from the defaults.
INHERITED = ("interval", "timeout", "ttft_timeout", "gap_timeout", "connection")


class GpuExporter(Strict):
    """A GPU exporter on another machine; the stack's own is scraped without being listed."""

    address: Address
    node: Text
    expected: int | None = Field(default=None, gt=0, le=1024)


class Defaults(Strict):
    """What targets and scenarios inherit."""

    interval: Interval = 60.0
    timeout: Timeout = 60.0
    ttft_timeout: Timeout | None = None
    gap_timeout: Timeout | None = None
    connection: Connection = "new"
    scenarios: list[Name] = Field(default=["short"], min_length=1)


class Prober(Strict):
    """Limits of the probe exporter as a whole."""

    max_concurrent: int = Field(default=16, gt=0, le=256)
    max_lag: Timeout = 0.02
    buckets: Buckets = "fine"


class Config(Strict):
    """The whole file."""

    defaults: Defaults = Defaults()
    prober: Prober = Prober()
    gpu_exporters: list[GpuExporter] = Field(default_factory=list)
    targets: list[Target] = Field(default_factory=list)
    scenarios: dict[Name, Scenario] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> "Config":
        return FindingsError.raised(list(findings(self)), self)

    @property
    def all_scenarios(self) -> dict[str, Scenario]:
        """The scenarios by name: those that ship with inferwatch and those of the file, which win."""
        return BUILT_IN_SCENARIOS | self.scenarios

    def scenarios_of(self, target: Target) -> dict[str, Scenario]:
        """Return the scenarios that a target runs, by name, each with its interval and limits resolved."""
        resolved = {}
        for name in target.scenarios or self.defaults.scenarios:
            scenario = self.all_scenarios[name]
            nearest = {
                key: getattr(scenario, key) or getattr(target, key) or getattr(self.defaults, key) for key in INHERITED
            }
            resolved[name] = scenario.model_copy(update=nearest)
        return resolved

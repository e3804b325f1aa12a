"""What is probed: one plan for each target and scenario of the configuration in force."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from exporters.probe.key import Key
from exporters.probe.metrics.ladders import LADDERS
from exporters.probe.series.record import Record
from exporters.probe.wire.session import KeptConnection
from inferwatch.config import Config, Scenario, Target


@dataclass(frozen=True)
class Plan:
    """One target and scenario, where its results go, and the connection that it uses again, if it is to."""

    target: Target
    name: str
    scenario: Scenario
    record: Record
    kept: KeptConnection | None = None

    @property
    def key(self) -> Key:
        """Names of target and scenario."""
        return self.target.name, self.name

    @property
    def interval(self) -> float:
        """Seconds between two probes."""
        return self.scenario.interval or 60.0

    def measures_the_same(self, other: "Plan") -> bool:
        """Say whether results of both may be counted together."""
        return self._measured == other._measured

    @property
    def _measured(self) -> tuple[object, ...]:
        target, scenario = self.target, self.scenario
        return target.url, target.api, target.model, scenario.asked()


def plans_of(
    config: Config, before: Mapping[Key, Plan], model_of: Callable[[Target], str]
) -> tuple[dict[Key, Plan], set[Key]]:
    """Return the plans of a configuration by their keys, and the keys of those that measure something new.

    Args:
        config: The configuration.
        before: The plans so far; records of what is measured as before go on.
        model_of: Returns the model that a target is asked for, "" while it is not known.
    """
    ladders = LADDERS[config.prober.buckets]
    plans: dict[Key, Plan] = {}
    fresh = set()
    for target in config.targets:
        for name, scenario in config.scenarios_of(target).items():
            kept = KeptConnection() if scenario.connection == "reuse" else None
            plan = Plan(target, name, scenario, Record(model_of(target), ladders), kept)
            old = before.get(plan.key)
            if old is not None and plan.measures_the_same(old):
                plan = replace(plan, record=old.record, kept=old.kept)
                plan.record.use(ladders)
            else:
                fresh.add(plan.key)
            plans[plan.key] = plan
    _close_unused(before, plans)
    return plans, fresh


def by_target(plans: Iterable[Plan]) -> dict[str, list[Plan]]:
    """Return the plans by the name of their target."""
    found: dict[str, list[Plan]] = {}
    for plan in plans:
        found.setdefault(plan.target.name, []).append(plan)
    return found


def _close_unused(before: Mapping[Key, Plan], plans: Mapping[Key, Plan]) -> None:
    """Close the kept connections of plans that are in force no more."""
    in_use = {id(plan.kept) for plan in plans.values()}
    for plan in before.values():
        if plan.kept is not None and id(plan.kept) not in in_use:
            plan.kept.close()

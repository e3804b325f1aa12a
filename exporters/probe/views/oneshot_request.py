"""What a request to `/probe` asks for: which target and scenario, and how long the probe may take."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from exporters.probe.targets.time_left import SHORTEST_SECONDS
from exporters.probe.views.any_target import target_of
from inferwatch.config import Config, Scenario, Target
from inferwatch.config.ability import cannot_ask
from inferwatch.config.built_in import BUILT_IN_SCENARIOS
from inferwatch.errors import ConfigError
from inferwatch.exposition import Request

TIMEOUT_HEADER = "x-prometheus-scrape-timeout-seconds"
# What is left of the scrape's timeout for the way back.
TIMEOUT_OFFSET = 0.5

Question = tuple[Target, str, Scenario]


@dataclass(frozen=True)
class Wanted:
    """A probe that was asked for.

    Attributes:
        target: Whom to probe.
        name: The scenario's name.
        scenario: Its timeout is what the scrape leaves to each request; a primed probe is two.
        configured: Whether the configuration names the target.
    """

    target: Target
    name: str
    scenario: Scenario
    configured: bool = True

    @property
    def key(self) -> tuple[str, str]:
        """Names of target and scenario; a URL may be asked in several ways."""
        target = self.target
        return target.name if self.configured else f"{target.url} {target.api} {target.model}", self.name

    @property
    def question(self) -> Question:
        """What a result must be an answer to, to be shared; how much time it had is another matter."""
        return self.target, self.name, self.scenario.model_copy(update={"timeout": None})

    @property
    def timeout(self) -> float:
        """The seconds that each of its requests may take."""
        return self.scenario.timeout or 60.0

    @property
    def seconds(self) -> float:
        """The seconds that all of it may take."""
        return self.timeout * self._requests

    def within(self, seconds: float) -> "Wanted":
        """Return the same probe, with at most so many seconds for all of it."""
        timeout = max(min(self.timeout, seconds / self._requests), SHORTEST_SECONDS)
        return replace(self, scenario=self.scenario.model_copy(update={"timeout": timeout}))

    @property
    def _requests(self) -> int:
        return 2 if self.scenario.primed else 1


def wanted_by(request: Request, config: Config, *, any_target: bool) -> Wanted | str:
    """Return what a request asks for, or a sentence that says what is wrong with it.

    Args:
        request: With `target`, and perhaps `scenario`, and for a URL `api` and `model`.
        config: The configuration in force.
        any_target: Whether `target` may be a URL.
    """
    target = _target(config, request, any_target)
    if isinstance(target, str):
        return target
    scenario = _scenario(config, target, last(request, "scenario"))
    if isinstance(scenario, str):
        return scenario
    wanted = Wanted(target, *scenario, configured=_is_configured(target))
    given = _seconds(request.headers)
    return wanted if given is None else wanted.within(given - TIMEOUT_OFFSET)


def last(request: Request, name: str) -> str:
    """Return a value of the query; the last of several, "" without one."""
    return request.query.get(name, [""])[-1]


def _target(config: Config, request: Request, any_target: bool) -> Target | str:
    name = last(request, "target")
    target = next((one for one in config.targets if one.name == name), None)
    if target is not None:
        return target
    if any_target and "://" in name:
        try:
            return target_of(name, last(request, "api"), last(request, "model"))
        except ConfigError as error:
            return f"target= cannot be probed: {error}"
    known = ", ".join(one.name for one in config.targets[:20]) or "none"
    why = "or a URL such as http://10.0.0.7:8000/v1" if any_target else "since probes carry its key"
    return f"target= must be a target of the configuration ({known}), {why}"


def _is_configured(target: Target) -> bool:
    return target.name != target.url


def _scenario(config: Config, target: Target, name: str) -> tuple[str, Scenario] | str:
    """Return the scenario of that name, by default the target's first, with what it inherits; or a sentence."""
    if _is_configured(target):
        known, others = set(config.all_scenarios), ""
    else:
        # What a file asks may be nobody else's business: prompts from files, tools, schemas.
        known = set(BUILT_IN_SCENARIOS) - set(config.scenarios)
        others = "; a URL is asked only what ships with inferwatch, and not what this file defines"
    own = target.scenarios or config.defaults.scenarios
    name = name or next((one for one in own if one in known), "")
    if name not in known:
        return f"scenario= must be one of {', '.join(sorted(known)) or 'none'}{others}"
    scenario = config.scenarios_of(target.model_copy(update={"scenarios": [name]}))[name]
    if sentence := cannot_ask(target, name, scenario):
        return f"{target.name} cannot be asked this: {sentence}"
    return name, scenario


def _seconds(headers: Mapping[str, str]) -> float | None:
    try:
        seconds = float(headers.get(TIMEOUT_HEADER, ""))
    except ValueError:
        return None
    return seconds if 0 < seconds < float("inf") else None

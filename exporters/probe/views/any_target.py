"""Probes of URLs that the configuration does not name, where whoever starts the exporter allows them.

They carry no key and no certificate. What they may spend is one allowance for all of them together.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

from exporters.probe.asking.run import ProbeResult, run_probe, unasked
from exporters.probe.asking.transcript import Transcript
from exporters.probe.failures import ProbeError
from exporters.probe.scheduling.manners import Manners
from exporters.probe.scheduling.spending import Spending
from exporters.probe.targets.models import served_models
from exporters.probe.targets.time_left import time_left
from inferwatch.config import Scenario, Target, parse_config
from inferwatch.config.cost import ProbeBudget
from inferwatch.errors import ConfigError

FLAG = "--probe.allow-any-target"
FILE_NAME = "probe-any-target-spending.json"
# Of how many URLs it is remembered that they asked to be left alone, before all is forgotten: anyone may make URLs up.
MOST_PATIENT = 256
_ALL = "any"


def target_of(url: str, api: str, model: str) -> Target:
    """Return a target that is called as its URL; "" is what a target without the key has.

    Raises:
        ConfigError: If one of them is not valid, with one sentence.
    """
    given = {"name": _ALL, "url": url} | {key: value for key, value in (("api", api), ("model", model)) if value}
    try:
        (target,) = parse_config(json.dumps({"targets": [given]}), "/probe", {}).targets
    except ConfigError as error:
        raise ConfigError([error.problems[0].partition("targets[0].")[2]]) from None
    return target.model_copy(update={"name": target.url})


class AnyTarget:
    """Runs such probes.

    Args:
        tokens_per_day: What all of them together may use in a day (UTC), as it is reckoned for `probe_budget`.
        folder: Where what was spent today is kept; None keeps it in memory alone.
        clock: Returns Unix time.
    """

    def __init__(self, tokens_per_day: int, folder: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._allowance = ProbeBudget(tokens_per_day=tokens_per_day)
        self._spending = Spending(clock, folder, FILE_NAME)
        self._manners = Manners()
        self._asked_for_patience = 0

    def run(self, target: Target, name: str, scenario: Scenario, transcript: Transcript | None) -> ProbeResult | str:
        """Return the result of a probe, or a sentence that says why it may not run."""
        if (seconds := self._manners.paused(target.name)) > 0:
            return f"{target.url} asked to be left alone for {seconds:.0f} s more (Retry-After)"
        payer = target.model_copy(update={"name": _ALL, "probe_budget": self._allowance})
        booking = self._spending.book(payer, name, scenario, due=False)
        if booking is None:
            return self._spending.why_not(payer, name, scenario, FLAG)
        result: ProbeResult | None = None
        try:
            result = _probe(target, name, scenario, transcript)
            self._note_patience(target, result)
            return result
        finally:
            self._spending.settle(booking, result)

    def save(self) -> None:
        """Keep what was spent across a restart."""
        self._spending.budgets.save()

    def _note_patience(self, target: Target, result: ProbeResult) -> None:
        self._asked_for_patience += result.retry_after_seconds is not None
        if self._asked_for_patience > MOST_PATIENT:
            self._asked_for_patience = 1
            self._manners.forget_all_but(set(), set())
        self._manners.asked_for_patience(target.name, result.outcome, result.retry_after_seconds)


def _probe(target: Target, name: str, scenario: Scenario, transcript: Transcript | None) -> ProbeResult:
    began = time.monotonic()
    try:
        model = target.model or served_models(target, scenario.timeout or 60.0, transcript)[0]
        scenario = time_left(scenario, began, "listing the models")
    except ProbeError as error:
        return unasked(target, name, error)
    return run_probe(target, name, scenario, model, transcript=transcript)

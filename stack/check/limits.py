"""Limits and rules of a scenario that a file may hold, and that can never act or hardly ever pass."""

from collections.abc import Iterator

from exporters.probe.checks.special_tokens import holds_special_token
from inferwatch.config import Config, Scenario, Target
from inferwatch.config.checks import Checks
from inferwatch.durations import format_duration
from stack.check.findings import Finding, warn

# A token of English has four characters; few answers have so many more.
MOST_CHARACTERS_PER_TOKEN = 8
OF_STREAMS = ("ttft_timeout", "gap_timeout", "min_output_tokens")


def check_limits(config: Config, target: Target) -> list[Finding]:
    """Warn of what is written and does nothing, once for all scenarios of the target that share it."""
    named: dict[tuple[str, str], list[str]] = {}
    for name, scenario in config.scenarios_of(target).items():
        written = config.all_scenarios[name].model_fields_set
        found = [*_timeouts(scenario, written), *_of_streams(scenario, written), *_objectives(target, scenario)]
        # Cases may share one.
        for said in dict.fromkeys([*found, *_checks(scenario)]):
            named.setdefault(said, []).append(name)
    return [warn("limits", f"{', '.join(names)}: {text}", todo) for (text, todo), names in named.items()]


def _timeouts(scenario: Scenario, written: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each limit within a stream that is as long as the deadline; one that others need too may be inherited."""
    for key in ("ttft_timeout", "gap_timeout"):
        seconds: float | None = getattr(scenario, key)
        inherited = key not in written and "timeout" in written
        if not scenario.stream or seconds is None or scenario.timeout is None or inherited:
            continue
        if seconds >= scenario.timeout:
            deadline = f"timeout: {format_duration(scenario.timeout)}"
            text = f"{key}: {format_duration(seconds)} is never reached before {deadline}"
            yield text, "make it shorter, or remove it"


def _of_streams(scenario: Scenario, written: set[str]) -> Iterator[tuple[str, str]]:
    """Yield what the scenario itself says about a stream and does not ask for one; what it inherits is for others."""
    if not scenario.stream:
        for key in OF_STREAMS:
            if key in written:
                yield f"{key} does nothing with stream: false", "remove one of both"


def _objectives(target: Target, scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield each objective that a probe meets or fails for another reason; of an engine, it judges its users too."""
    if target.metrics:
        return
    limits = {"e2e": "timeout", "ttft": "ttft_timeout" if scenario.ttft_timeout and scenario.stream else "timeout"}
    for name, key in limits.items():
        objective, limit = getattr(target.slo, name), getattr(scenario, key)
        if objective is not None and limit is not None and objective.threshold >= limit:
            threshold = f"slo.{name}: {format_duration(objective.threshold)}"
            text = (
                f"{threshold} is met by every probe that succeeds, as {key}: {format_duration(limit)} ends the others"
            )
            yield text, f"lower the objective, or raise {key}"


def _checks(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield what an answer can hardly pass."""
    for case in scenario.all_cases:
        checks = case.checks or Checks()
        wanted = max(checks.min_characters or 0, len(checks.text or ""))
        if wanted > MOST_CHARACTERS_PER_TOKEN * scenario.max_tokens:
            text = f"checks want {wanted} characters, more than an answer of max_tokens: {scenario.max_tokens} has"
            yield text, "raise max_tokens, or every probe ends as check_failed"
        if checks.special_tokens and holds_special_token(checks.text or ""):
            yield "checks.text holds a special token, which special_tokens forbids", "write special_tokens: false"

"""Whether probes fit: each into its interval and timeout, and all of them under the prober's limit."""

import math
from collections.abc import Iterator

from exporters.probe.scheduling.expected import SECONDS_PER_TOKEN, answer_seconds, expected_seconds
from inferwatch.config import Config, Scenario, Target
from inferwatch.durations import format_duration
from stack.check.findings import Finding, ok, warn

DAY = 86_400.0
LARGEST_LIMIT = 256
_SPEED = f"{1 / SECONDS_PER_TOKEN:.0f} tokens a second"


def check_fit(config: Config) -> Finding | None:
    """Say whether the probes fit under `prober.max_concurrent`; None without any.

    The probes that run at a time are, on average, the sum of duration / interval (Little's law), each scenario at most
    once: what is due while it runs is skipped.
    """
    scenarios = [scenario for target in config.targets for scenario in config.scenarios_of(target).values()]
    if not scenarios:
        return None
    needed = sum(min(expected_seconds(scenario) / _interval(scenario), 1.0) for scenario in scenarios)
    limit = config.prober.max_concurrent
    text = f"{needed:,.1f} probes run at a time on average, if servers give {_SPEED}"
    if needed <= limit:
        return ok("prober", f"{text}; prober.max_concurrent is {limit}")
    wanted = math.ceil(needed * 1.5)
    todo = f"raise prober.max_concurrent to about {wanted}, or the intervals"
    if wanted > LARGEST_LIMIT:
        times = math.ceil(needed * 1.5 / LARGEST_LIMIT)
        todo = f"make the intervals {times} times as long, or share the targets out among {times} probers"
    return warn("prober", f"{text}, more than prober.max_concurrent: {limit}; others are skipped as misfire", todo)


def check_pace(config: Config, target: Target) -> list[Finding]:
    """Warn of each scenario whose answers take longer than its timeout, or whose probes take longer than its interval.

    Both at full length: a model that ends its answers early may do well.
    """
    scenarios = config.scenarios_of(target).items()
    return [finding for name, scenario in scenarios for finding in _pace_of(name, scenario)]


def _pace_of(name: str, scenario: Scenario) -> Iterator[Finding]:
    answer, probe, interval = answer_seconds(scenario), expected_seconds(scenario), _interval(scenario)
    if scenario.timeout is not None and answer > scenario.timeout:
        text = f"{name}: an answer of {scenario.max_tokens:,} tokens takes about {answer:,.0f} s at {_SPEED}"
        text += f", longer than timeout: {format_duration(scenario.timeout)}; such a probe ends as deadline"
        yield warn("pace", text, "raise the timeout, or lower max_tokens")
    if probe > interval:
        due = math.ceil(probe / interval)
        text = f"{name}: a probe takes about {probe:,.0f} s, longer than interval: {format_duration(interval)}"
        yield warn(
            "pace", f"{text}; {due - 1} of {due} are skipped as overlap", "raise the interval, or lower max_tokens"
        )


def _interval(scenario: Scenario) -> float:
    return scenario.interval or DAY

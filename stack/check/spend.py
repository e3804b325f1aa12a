"""What probes of a target may cost in a day, and whether all probes fit under the prober's limit."""

import math

from exporters.probe.scheduling.spending import most_tokens, per_day
from inferwatch.config import Config, Scenario, Target
from inferwatch.durations import format_duration
from stack.check.findings import Finding, ok, warn

DAY = 86_400.0
# What is assumed of an answer nobody has measured yet: a slow server of today that is not overloaded.
FIRST_TOKEN_SECONDS = 0.5
SECONDS_PER_TOKEN = 0.025
LARGEST_LIMIT = 256


def check_spending(config: Config, target: Target) -> Finding:
    """Estimate what probes may cause in a day: probes a day, each with an answer of full length, an upper bound."""
    scenarios = config.scenarios_of(target)
    tokens = sum(
        DAY / (scenario.interval or DAY) * most_tokens(target, scenario, 0)[1] for scenario in scenarios.values()
    )
    parts = ", ".join(_part(name, scenario) for name, scenario in scenarios.items())
    text = f"probes ask for at most {tokens:,.0f} output tokens a day ({parts}), and send the prompts beside"
    most, cost, budget = per_day(target, scenarios.values()), target.cost, target.probe_budget
    if cost is not None and cost.is_per_token:
        text += f"; both cost at most about {most.money:,.2f} {cost.currency}"
    if budget is None:
        return ok("spending", text)
    limits, over = [], False
    if budget.tokens_per_day is not None:
        limits.append(f"{budget.tokens_per_day:,}")
        over = most.tokens > budget.tokens_per_day
    if budget.money_per_day is not None and cost is not None:
        limits.append(f"{budget.money_per_day:,.2f} {cost.currency}")
        over = over or most.money > budget.money_per_day
    text += f"; the budget is {' and '.join(limits)}"
    if over:
        todo = "probes pause each day when it is spent: raise probe_budget, the interval, or lower max_tokens"
        return warn("spending", text, todo)
    return ok("spending", text)


def check_fit(config: Config) -> Finding | None:
    """Say whether the probes fit under `prober.max_concurrent`; None without any.

    The probes that run at a time are, on average, the sum of duration / interval (Little's law).
    """
    scenarios = [scenario for target in config.targets for scenario in config.scenarios_of(target).values()]
    if not scenarios:
        return None
    needed = sum(_seconds(scenario) / (scenario.interval or DAY) for scenario in scenarios)
    limit = config.prober.max_concurrent
    text = f"{needed:,.1f} probes run at a time on average, if servers give {1 / SECONDS_PER_TOKEN:.0f} tokens a second"
    if needed <= limit:
        return ok("prober", f"{text}; prober.max_concurrent is {limit}")
    wanted = math.ceil(needed * 1.5)
    todo = f"raise prober.max_concurrent to about {wanted}, or the intervals"
    if wanted > LARGEST_LIMIT:
        times = math.ceil(needed * 1.5 / LARGEST_LIMIT)
        todo = f"make the intervals {times} times as long, or share the targets out among {times} probers"
    return warn("prober", f"{text}, more than prober.max_concurrent: {limit}; others are skipped as misfire", todo)


def _seconds(scenario: Scenario) -> float:
    expected = FIRST_TOKEN_SECONDS + SECONDS_PER_TOKEN * scenario.max_tokens
    return min(expected, scenario.timeout or expected)


def _part(name: str, scenario: Scenario) -> str:
    primed = " and a request to prime it" if scenario.primed else ""
    return f"{name}: {scenario.max_tokens}{primed} every {format_duration(scenario.interval or DAY)}"

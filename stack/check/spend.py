"""What probes of a target may cost in a day, and whether all probes fit under the prober's limit."""

import math

from exporters.probe.scheduling.expected import SECONDS_PER_TOKEN, expected_seconds
from exporters.probe.scheduling.spending import estimated_tokens, most_tokens, per_day
from inferwatch.config import Config, Scenario, Target
from inferwatch.config.cost import ProbeBudget
from inferwatch.durations import format_duration
from stack.check.findings import Finding, fail, ok, warn

DAY = 86_400.0
LARGEST_LIMIT = 256


def check_spending(config: Config, target: Target) -> Finding:
    """Estimate what probes may use in a day: each with its prompt and an answer of full length, an upper bound.

    The prompt is estimated, as the budget does until a server has counted it.
    """
    scenarios = config.scenarios_of(target)
    output = sum(
        DAY / (scenario.interval or DAY) * most_tokens(target, scenario, 0)[1] for scenario in scenarios.values()
    )
    parts = ", ".join(_part(name, scenario) for name, scenario in scenarios.items())
    most, cost, budget = per_day(target, scenarios.values()), target.cost, target.probe_budget
    text = f"probes use at most about {most.tokens:,} tokens a day, {output:,.0f} of them output ({parts})"
    if cost is not None and cost.is_per_token:
        text += f"; they cost at most about {most.money:,.2f} {cost.currency}"
    if budget is None:
        return ok("spending", text)
    if too_large := [name for name, scenario in scenarios.items() if not _holds_one(budget, target, scenario)]:
        text += f"; the budget is too small for a single probe of {', '.join(too_large)}, so none ever runs"
        return fail("spending", text, "raise probe_budget, or lower max_tokens or shorten the prompt")
    limits, over = [], False
    if budget.tokens_per_day is not None:
        limits.append(f"{budget.tokens_per_day:,} tokens")
        over = most.tokens > budget.tokens_per_day
    if budget.money_per_day is not None and cost is not None:
        limits.append(f"{budget.money_per_day:,.2f} {cost.currency}")
        over = over or most.money > budget.money_per_day
    text += f"; the budget is {' and '.join(limits)}"
    if over:
        todo = "probes pause each day when it is spent: raise probe_budget, the interval, or lower max_tokens"
        return warn("spending", text, todo)
    return ok("spending", text)


def _holds_one(budget: ProbeBudget, target: Target, scenario: Scenario) -> bool:
    """Say whether the budget of a day that has just begun lets one probe start."""
    prompt, output = most_tokens(target, scenario, estimated_tokens(scenario))
    money = target.cost.of_tokens(prompt, output) if target.cost is not None else 0.0
    enough_tokens = budget.tokens_per_day is None or prompt + output <= budget.tokens_per_day
    return enough_tokens and (budget.money_per_day is None or money <= budget.money_per_day)


def check_fit(config: Config) -> Finding | None:
    """Say whether the probes fit under `prober.max_concurrent`; None without any.

    The probes that run at a time are, on average, the sum of duration / interval (Little's law).
    """
    scenarios = [scenario for target in config.targets for scenario in config.scenarios_of(target).values()]
    if not scenarios:
        return None
    needed = sum(expected_seconds(scenario) / (scenario.interval or DAY) for scenario in scenarios)
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


def _part(name: str, scenario: Scenario) -> str:
    primed = " and a request to prime it" if scenario.primed else ""
    return f"{name}: {scenario.max_tokens}{primed} every {format_duration(scenario.interval or DAY)}"

"""What probes of a target may cost in a day."""

from exporters.probe.scheduling.spending import per_day
from inferwatch.config import Config, Scenario, Target
from inferwatch.config.reckoning import most_tokens
from inferwatch.durations import format_duration
from stack.check.findings import Finding, ok, warn

DAY = 86_400.0


def check_spending(config: Config, target: Target) -> Finding:
    """Estimate what probes may use in a day: each with its prompt and an answer of full length, an upper bound.

    The prompt is estimated, as the budget does until a server has counted it.
    """
    scenarios = config.scenarios_of(target)
    output = sum(DAY / (scenario.interval or DAY) * most_tokens(target, scenario)[1] for scenario in scenarios.values())
    parts = ", ".join(_part(name, scenario) for name, scenario in scenarios.items())
    most, cost, budget = per_day(target, scenarios.values()), target.cost, target.probe_budget
    text = f"probes use at most about {most.tokens:,} tokens a day, {output:,.0f} of them output ({parts})"
    if cost is not None and cost.is_per_token:
        text += f"; they cost at most about {most.money:,.2f} {cost.currency}"
    if budget is None:
        return ok("spending", text)
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


def _part(name: str, scenario: Scenario) -> str:
    primed = " and a request to prime it" if scenario.primed else ""
    return f"{name}: {scenario.max_tokens}{primed} every {format_duration(scenario.interval or DAY)}"

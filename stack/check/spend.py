"""What probes of a target may cost in tokens."""

from inferwatch.config import Config, Scenario, Target
from inferwatch.config.quantities import format_duration
from stack.check.findings import Finding, ok, warn

DAY = 86_400.0


def check_spending(config: Config, target: Target) -> Finding:
    """Estimate the output tokens that probes may cause in a day: probes a day times max_tokens, an upper bound."""
    scenarios = config.scenarios_of(target)
    tokens = sum(DAY / (scenario.interval or DAY) * scenario.max_tokens for scenario in scenarios.values())
    parts = ", ".join(_part(name, scenario) for name, scenario in scenarios.items())
    text = f"probes ask for at most {tokens:,.0f} output tokens a day ({parts}), and send the prompts beside"
    budget = target.probe_budget.tokens_per_day if target.probe_budget else None
    if budget is None:
        return ok("spending", text)
    if tokens > budget:
        return warn(
            "spending",
            f"{text}; the budget is {budget:,}",
            "probes pause each day when it is spent: raise tokens_per_day, the interval, or lower max_tokens",
        )
    return ok("spending", f"{text}; the budget is {budget:,}")


def _part(name: str, scenario: Scenario) -> str:
    return f"{name}: {scenario.max_tokens} every {format_duration(scenario.interval or DAY)}"

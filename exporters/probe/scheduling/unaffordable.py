"""Why a day's budget does not hold one more probe, in a sentence for whoever asked for it."""

from exporters.probe.scheduling.budget import Amount, left
from inferwatch.config.cost import ProbeBudget


def unaffordable(name: str, most: Amount, taken: Amount, budget: ProbeBudget, whose: str) -> str:
    """Return the sentence.

    Args:
        name: The scenario's name.
        most: What one probe of it may cost at most.
        taken: What is spent today, or set aside for probes that run.
        budget: What may be spent in a day.
        whose: What the user calls it.
    """
    tokens_left, money_left = left(budget, taken)
    limits = (
        ("use", "tokens", most.tokens, tokens_left, budget.tokens_per_day),
        ("cost", most.currency, most.money, money_left, budget.money_per_day),
    )
    for verb, unit, wanted, remaining, limit in limits:
        if limit is None or remaining is None or wanted <= remaining:
            continue
        one = f"one probe of {name!r} may {verb} {_number(wanted)} {unit}"
        if wanted > limit:
            return f"{one}, more than the {_number(limit)} of {whose}; allow more"
        of_all = f"of the {_number(limit)} {unit} of {whose} {_number(remaining)} are left for today (UTC)"
        return f"{of_all}, and {one}"
    return f"probes that ended just now have freed what this one needs of {whose}; ask again"


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"

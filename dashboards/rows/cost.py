"""Cost: what do tokens cost, and what is paid for nothing?"""

from grafanalib import core

from dashboards import expressions as expr
from dashboards.layout import Item, Section
from dashboards.panels import Query, objective_line, timeseries
from exporters.probe import metrics as probe
from prometheus import vocabulary as names


def section() -> Section:
    """Return the row."""
    return Section("Cost", tuple(Item(panel, width=12, height=8) for panel in (_per_million(), _burn())))


def _by_currency(series: object) -> str:
    return f"max by (target, currency) ({series}{{{expr.TARGET}}})"


def _per_million() -> core.TimeSeries:
    return timeseries(
        "Cost per million tokens",
        "What the target cost in the last hour, divided by the tokens of its users in the same hour; probes do not "
        "count. `output` divides by output tokens alone, `all` by prompt and output. Fewer tokens make each dearer, "
        "as the hardware costs the same. Dashed: the limit of the alert. Source: configured prices, engine.",
        "none",
        [
            Query(_by_currency(names.COST_PER_MTOK_OUTPUT), "{{target}} output ({{currency}})"),
            Query(_by_currency(names.COST_PER_MTOK_TOTAL), "{{target}} all ({{currency}})"),
            Query(_by_currency(probe.TARGET_COST_LIMIT), "{{target}} limit ({{currency}})"),
        ],
        empty="no price is configured, or users had too few tokens in the last hour to divide by",
        overrides=[objective_line("C")],
        runbook="CostPerMillionTokensHigh",
    )


def _burn() -> core.TimeSeries:
    return timeseries(
        "Burn and idle cost",
        "`per hour` is what the target costs an hour, used or not. `idle` is the part of the last hour's cost in which "
        "users caused no work. Idle near burn means that you pay for hardware that nobody uses. "
        "Source: configured prices, engine.",
        "none",
        [
            Query(_by_currency(names.BURN_PER_HOUR), "{{target}} per hour ({{currency}})"),
            Query(_by_currency(names.IDLE_COST), "{{target}} idle ({{currency}})"),
        ],
        empty="no price is configured: give the target cost: in inferwatch.yml",
    )

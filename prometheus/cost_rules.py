"""`llm:cost_*` and `llm:burn_*`: money, against the traffic of users.

Formulas: money that accrued in the last hour divided by what users got in that hour, so that the parts add up to the
bill. Money comes from a counter, so a new price never changes what the past cost. Two probers each count all of the
money, so the larger of the two is taken; what each of them caused as traffic is summed.
"""

from exporters.probe import metrics as probe
from prometheus import vocabulary as names
from prometheus.groups import SLOW, Group, Rule, group, record
from prometheus.promql import aggregate, configured, increase, rate

TARGET = ("target",)
MONEY = ("target", "currency")
# Below these a unit cost says more about the hour than about the target, so there is none.
FEWEST_TOKENS = 1000
FEWEST_REQUESTS = 10


def groups() -> list[Group]:
    """Return the group of users' traffic now, and the group of costs."""
    traffic = record(names.USER_OUTPUT_TOKENS_RATE, _minus(names.OUTPUT_TOKENS_RATE, rate(probe.OUTPUT_TOKENS)))
    costs = [*_money(), *_users(), *_busy(), *_unit_costs(), _idle()]
    return [group("llm-users", [traffic]), group("llm-cost", costs, SLOW)]


def _money() -> list[Rule]:
    accrued = aggregate("max", (*MONEY, "basis", "component"), increase(probe.TARGET_COST, "1h"))
    return [
        record(names.BURN_PER_HOUR, configured(probe.TARGET_COST_PER_HOUR, MONEY)),
        record(names.COST_INCREASE, aggregate("sum", MONEY, accrued)),
    ]


def _users() -> list[Rule]:
    return [
        record(
            names.USER_OUTPUT_TOKENS_INCREASE,
            _minus(names.OUTPUT_TOKENS_INCREASE, increase(probe.OUTPUT_TOKENS, "1h")),
        ),
        record(
            names.USER_PROMPT_TOKENS_INCREASE,
            _minus(names.PROMPT_TOKENS_INCREASE, increase(probe.PROMPT_TOKENS, "1h")),
        ),
        record(
            names.USER_REQUESTS_INCREASE,
            _minus(
                names.REQUESTS_SUCCEEDED_INCREASE,
                f"{increase(probe.REQUESTS, '1h', outcome='success')} or {increase(probe.PRIMED, '1h')}",
            ),
        ),
    ]


def _minus(engine: str, probes: str) -> str:
    """Return the engine's figure without the probes' share, at least 0, since the two are not counted at one moment."""
    counted = aggregate("sum", TARGET, engine)
    ours = aggregate("sum", TARGET, probes)
    return f"clamp_min(\n  {counted}\n  - ({ours}\n    or 0 * {counted}),\n  0\n)"


def _busy() -> list[Rule]:
    """Return whether users are served now, and the share of the paid time in which they were.

    A request must run, and users must cause more output tokens than the probes do, or the probes alone would make an
    idle endpoint look busy. An engine that has crashed is idle while it is paid for; a target without an engine's
    metrics has neither series, for nobody can tell.
    """
    running = aggregate("sum", TARGET, names.REQUESTS_RUNNING)
    probes = aggregate("sum", TARGET, rate(probe.OUTPUT_TOKENS))
    replicas = configured(probe.TARGET_METRICS_CONFIGURED, TARGET)
    users_now = f"({names.USER_OUTPUT_TOKENS_RATE}\n  > bool ({probes}\n    or 0 * {names.USER_OUTPUT_TOKENS_RATE}))"
    paid = aggregate("max", TARGET, f"count_over_time({names.BURN_PER_HOUR}[1h])")
    return [
        record(
            names.BUSY,
            f"({running} > bool 0)\n* on (target)\n{users_now}\nor on (target)\n0 * ({replicas} > 0)",
        ),
        # Where a price was given only a moment ago, there is more busy time than paid time.
        record(names.BUSY_RATIO, f"clamp_max(\n  sum_over_time({names.BUSY}[1h])\n  / on (target)\n  {paid},\n  1\n)"),
    ]


def _unit_costs() -> list[Rule]:
    output, prompt = names.USER_OUTPUT_TOKENS_INCREASE, names.USER_PROMPT_TOKENS_INCREASE
    return [
        record(names.COST_PER_MTOK_OUTPUT, _per(1_000_000, output, FEWEST_TOKENS)),
        record(names.COST_PER_MTOK_TOTAL, _per(1_000_000, f"({output} + {prompt})", FEWEST_TOKENS)),
        record(names.COST_PER_1K_REQUESTS, _per(1000, names.USER_REQUESTS_INCREASE, FEWEST_REQUESTS)),
    ]


def _per(unit: int, amount: str, fewest: int) -> str:
    return f"{unit} * {names.COST_INCREASE}\n/ on (target) group_left ()\n({amount} >= {fewest})"


def _idle() -> Rule:
    return record(names.IDLE_COST, f"{names.COST_INCREASE}\n* on (target) group_left ()\n(1 - {names.BUSY_RATIO})")

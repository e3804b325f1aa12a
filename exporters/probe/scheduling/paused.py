"""The series of what is left of budgets, what probes have cost, and which targets are left alone."""

from collections.abc import Callable, Iterable

from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from exporters.probe import metrics
from exporters.probe.scheduling.budget import left
from exporters.probe.scheduling.manners import Manners
from exporters.probe.scheduling.spending import Spending
from exporters.probe.series.families import Families
from exporters.probe.targets.naps import Naps
from inferwatch.config import Config


class PausedCollector(Collector):
    """Yields `llm_probe_paused`, `llm_probe_budget_*` and `llm_probe_cost_total`.

    Args:
        config: Returns the configuration in force.
        spending: What probes have spent.
        manners: Which targets asked to be left alone.
        naps: Which targets sleep.
    """

    def __init__(self, config: Callable[[], Config | None], spending: Spending, manners: Manners, naps: Naps) -> None:
        self._config = config
        self._spending = spending
        self._manners = manners
        self._naps = naps

    def collect(self) -> Iterable[Family]:
        """Return one family per metric."""
        families = Families()
        config = self._config()
        spent = self._spending.paused()
        for target in config.targets if config else ():
            paused = {
                "budget": target.name in spent,
                "retry_after": self._manners.paused(target.name) > 0,
                "asleep": self._naps.asleep(target),
            }
            for reason in metrics.PAUSE_REASONS:
                families.add(metrics.PAUSED, {"target": target.name, "reason": reason}, paused[reason])
            if target.probe_budget is None:
                continue
            tokens, money = left(target.probe_budget, self._spending.taken(target))
            if tokens is not None:
                families.add(metrics.BUDGET_LEFT_TOKENS, {"target": target.name}, tokens)
            if money is not None and target.cost is not None:
                labels = {"target": target.name, "currency": target.cost.currency}
                families.add(metrics.BUDGET_LEFT_MONEY, labels, money)
        for (name, currency), cost in self._spending.money().items():
            families.add(metrics.PROBE_COST, {"target": name, "currency": currency}, cost)
        return families.all()

"""The series of what the configuration says, so that static rules can use it."""

from collections.abc import Callable, Iterable

from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from exporters.probe import metrics
from exporters.probe.series.cost import CostMeter, price_of
from exporters.probe.series.families import Families
from exporters.probe.targets.discovery import instance
from exporters.probe.targets.engine_kinds import EngineKinds
from inferwatch.config import Config, Target
from inferwatch.config.consistency import OWN_NODE
from inferwatch.config.objectives import SLO_NAMES


class ConfiguredCollector(Collector):
    """Yields `llm_target_*`; nothing while no configuration was ever good.

    Args:
        config: Returns the configuration in force.
        kinds: Knows which engine is at each address.
        meter: Accrues the costs.
    """

    def __init__(self, config: Callable[[], Config | None], kinds: EngineKinds, meter: CostMeter) -> None:
        self._config = config
        self._kinds = kinds
        self._meter = meter

    def collect(self) -> Iterable[Family]:
        """Return one family per metric."""
        families = Families()
        config = self._config()
        if config is None:
            return families.all()
        families.add(metrics.TARGETS_CONFIGURED, {}, len(config.targets))
        for target in config.targets:
            _add_identity(families, target, self._kinds.name_of(target))
            for url, kind in self._kinds.of(target).items():
                labels = {"target": target.name, "address": instance(url)}
                labels |= {"inference_engine": kind.engine.name, "by": kind.by}
                families.add(metrics.TARGET_ENGINE_INFO, labels, 1)
            _add_objectives(families, target)
            _add_prices(families, target)
        for price, accrued in self._meter.accrued():
            labels = {"target": price.target, "currency": price.currency, "basis": price.basis}
            families.add(metrics.TARGET_COST, {**labels, "component": price.component}, accrued)
        for exporter in config.gpu_exporters:
            if exporter.expected is not None:
                families.add(metrics.GPU_EXPORTER_EXPECTED, {"node": exporter.node}, exporter.expected)
        return families.all()


def _add_identity(families: Families, target: Target, engine: str) -> None:
    labels = {"target": target.name, "url": target.url, "api": target.api, "engine": engine, **target.labels}
    families.add(metrics.TARGET_INFO, labels, 1)
    families.add(metrics.TARGET_METRICS_CONFIGURED, {"target": target.name}, len(target.metrics))
    if target.gpus is None:
        return
    families.add(metrics.TARGET_GPUS, {"target": target.name}, target.gpus.number)
    for index in target.gpus.indices or ():
        node = target.gpus.node or OWN_NODE
        families.add(metrics.TARGET_GPU_INFO, {"target": target.name, "node": node, "gpu": str(index)}, 1)


def _add_objectives(families: Families, target: Target) -> None:
    for name in SLO_NAMES:
        objective = getattr(target.slo, name)
        if objective is not None:
            labels = {"target": target.name, "slo": name, "quantile": str(objective.quantile)}
            families.add(metrics.TARGET_SLO, labels, objective.threshold)


def _add_prices(families: Families, target: Target) -> None:
    price = price_of(target)
    families.add(metrics.TARGET_PRICE_MISSING, {"target": target.name}, target.cost is None)
    if target.cost is None:
        return
    labels = {"target": target.name, "currency": target.cost.currency}
    by_token = {"input": target.cost.input_per_mtok, "output": target.cost.output_per_mtok}
    for direction, money in by_token.items():
        if money is not None:
            families.add(metrics.TARGET_TOKEN_PRICE, {**labels, "direction": direction}, money)
    if price is None:
        return
    families.add(metrics.TARGET_COST_PER_HOUR, {**labels, "basis": price.basis}, price.per_hour)
    if target.cost.alert_above_per_mtok is not None:
        families.add(metrics.TARGET_COST_LIMIT, labels, target.cost.alert_above_per_mtok)

"""The parts that panels build their PromQL from.

Everything is read through an aggregation that drops `instance`, so two probers of one target, or two exporters of one
GPU, show as one line.
"""

from exporters.gpu import metrics as gpu
from exporters.probe import metrics as probe
from prometheus import vocabulary as names

TARGET = 'target=~"$target"'
# Alerts about the stack itself have no target.
TARGET_OR_NONE = 'target=~"$target|"'
NODE = 'node=~"$node"'
ENGINE_UP = f'min by (target) (up{{job="llm-engine", {TARGET}}})'


def by_target(series: object, how: str = "max", matchers: str = "") -> str:
    """Return a series for each target: its `how` (sum, max, min) over everything else."""
    selector = ", ".join(filter(None, (TARGET, matchers)))
    return f"{how} by (target) ({series}{{{selector}}})"


def in_each_bar(counter: object, *labels: str) -> str:
    """Return by how much a counter grew in the time of one bar, by target and these labels; only where it did."""
    return f"sum by ({', '.join(('target', *labels))}) (increase({counter}{{{TARGET}}}[$__interval])) > 0"


def engine_or_probe(latency: str, quantile: str, say_which: bool = True) -> str:
    """Return a latency for each target: the engine's, over all requests, or where it has none the probes'.

    With `say_which`, the label `source` says engine or probe. The worst model or scenario stands for
    the target, since quantiles cannot be averaged.
    """
    engine, probes = (
        f"max by (target) ({names.quantile(latency, quantile, prefix)}{{{TARGET}}})" for prefix in ("llm", "llm_probe")
    )
    if say_which:
        engine, probes = _label(engine, "source", "engine"), _label(probes, "source", "probe")
    return f"{engine}\nor on (target)\n{probes}"


def last_probe() -> str:
    """Return 1 or 0 for each target: whether the last probe of every scenario succeeded.

    A probe that is late, as the alert ProbeStale counts it, is left out: an old result never passes for a new one.
    """
    fresh = f"time() - {probe.LAST_RUN_TIMESTAMP} < 3 * {probe.INTERVAL} + 120"
    return (
        f"min by (target) (\n  {probe.LAST_SUCCESS}{{{TARGET}}}\n"
        f"  and on (instance, target, scenario, model_name) ({fresh})\n)"
    )


def within_objectives(window: str) -> str:
    """Return the goodput of each target's probes: good / (all - tainted - rate_limited); absent without probes."""
    judged = f'{probe.REQUESTS}{{{TARGET}, outcome!~"tainted|rate_limited"}}'
    good = f"sum by (target) (increase({probe.SLO_GOOD}{{{TARGET}}}[{window}]))"
    return f"{good}\n/ (sum by (target) (increase({judged}[{window}])) > 0)"


def objective(latency: str) -> str:
    """Return the latency objective that the configuration sets for each target."""
    return f'max by (target, quantile) ({probe.TARGET_SLO}{{slo="{latency}", {TARGET}}})'


def per_gpu(series: object) -> str:
    """Return a series for each GPU, with the label `simulated` where the GPU is not a real one."""
    each = f"max by (node, gpu, uuid) ({series}{{{NODE}}})"
    return f'label_replace({each}, "simulated", " (simulated)", "uuid", "GPU-SIMULATED-.*")'


def simulated() -> str:
    """Return 1 when any GPU exporter simulates its GPUs, 0 when none does."""
    return f"max({gpu.SIMULATED}{{{NODE}}})"


def _label(expr: str, label: str, value: str) -> str:
    return f'label_replace({expr}, "{label}", "{value}", "", "")'

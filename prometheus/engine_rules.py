"""`llm:*`: what the engines say, one group for each engine file."""

from inferwatch.engines import Engine, load_engines
from prometheus import vocabulary as names
from prometheus.groups import Group, Rule, group, record
from prometheus.promql import RATE_WINDOW_SECONDS, aggregate, rate, selector

INSTANCE = ("target", "instance", "model_name")
MODEL = ("target", "model_name")


def groups() -> list[Group]:
    """Return a group for each engine: its concepts, then what is computed from its histograms."""
    return [group(f"llm-engine-{engine.name}", _rules(engine)) for engine in load_engines().values()]


def _rules(engine: Engine) -> list[Rule]:
    stamp = {"inference_engine": engine.name}
    rules = [record(f"llm:{concept}", expr, **stamp) for concept, expr in engine.concepts.items()]
    for latency, histograms in engine.histograms.items():
        rules += _latency(latency, histograms, stamp)
    return rules


def _latency(latency: str, histograms: list[str], stamp: dict[str, str]) -> list[Rule]:
    """Return the rules of one latency.

    Quantiles are taken per engine kind, for the bucket bounds of two kinds differ. While there are no requests a
    quantile is NaN; the comparison drops it.
    """
    buckets = selector(names.buckets(latency), **stamp)
    rules = [record(names.buckets(latency), aggregate("sum", (*INSTANCE, "le"), _rates(histograms, "bucket")), **stamp)]
    rules += [
        record(
            names.quantile(latency, name),
            f"histogram_quantile({value}, {aggregate('sum', (*MODEL, 'le'), buckets)}) >= 0",
            **stamp,
        )
        for name, value in names.QUANTILES.items()
    ]
    total = aggregate("sum", MODEL, _rates(histograms, "sum"))
    count = aggregate("sum", MODEL, _rates(histograms, "count"))
    rules.append(record(names.quantile(latency, "mean"), f"{total}\n/\n({count} > 0)", **stamp))
    rules.append(record(names.observations(latency), f"{RATE_WINDOW_SECONDS} * {count} > 0", **stamp))
    return rules


def _rates(histograms: list[str], part: str) -> str:
    """Return the rate under whichever name this version of the engine has; both at once are counted once."""
    return " or ".join(rate(f"{name}_{part}") for name in histograms)

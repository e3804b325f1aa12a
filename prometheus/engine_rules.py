"""`llm:*` and `llm_gateway:*`: what engines and gateways say, one group for each engine file that has metrics.

Rates are taken before sums, so that a restart of one process is seen as such; ranks and replicas are summed for counts
and never for ratios; and where a metric was renamed, an instance is counted once, under the newest name that it has.
"""

from collections.abc import Callable

from inferwatch.engines import Engine, load_engines
from prometheus import vocabulary as names
from prometheus.concepts import CONCEPTS, INSTANCE, Concept
from prometheus.groups import SLOW, Group, Rule, group, record
from prometheus.promql import RATE_WINDOW, RATE_WINDOW_SECONDS, aggregate, block, selector

MODEL = ("target", "model_name")
# What alerts and panels follow closely, beside the latencies that pages rest on. The rest is asked for by hand and is
# recorded once a minute; its histograms are most of what rules cost. Nothing follows gateways.
FOLLOWED = (
    "requests_running", "requests_waiting", "kv_cache_usage_ratio:max", "prompt_tokens:rate5m", "output_tokens:rate5m",
)  # fmt: skip
Over = Callable[[str], str]


def by_file() -> dict[str, list[Group]]:
    """Return the groups of each engine and gateway that has metrics, by the name of their file.

    The first holds what is followed closely, the second, which is evaluated less often, the rest.
    """
    made: dict[str, list[Group]] = {}
    for engine in load_engines().values():
        file, prompt, slow = f"{engine.kind}-{engine.name}", *_concepts(engine)
        for latency, histograms in engine.histograms.items():
            followed = engine.kind == "engine" and latency in names.PAGED_LATENCIES
            (prompt if followed else slow).extend(_quantiles(engine, latency, histograms))
            slow += [_mean(engine, latency, histograms), *_fit(engine, latency)]
        if prompt or slow:
            made[file] = [group(f"llm-{file}", prompt)] if prompt else []
            made[file] += [group(f"llm-{file}-slow", slow, SLOW)] if slow else []
    return made


def _concepts(engine: Engine) -> tuple[list[Rule], list[Rule]]:
    """Return the rules of the concepts that are followed closely, and those of the others."""
    prefix, stamp = names.prefix(engine.kind), _stamp(engine)
    exprs = dict(engine.concepts)
    for concept in CONCEPTS:
        exprs |= {f"{concept}{suffix}": expr for suffix, expr in _concept(engine, concept).items()}
    prompt: list[Rule] = []
    slow: list[Rule] = []
    for name, expr in exprs.items():
        followed = engine.kind == "engine" and name in FOLLOWED
        (prompt if followed else slow).append(record(f"{prefix}:{name}", expr, **stamp))
    return prompt, slow


def _stamp(engine: Engine) -> dict[str, str]:
    return {f"inference_{engine.kind}": engine.name}


def _concept(engine: Engine, name: str) -> dict[str, str]:
    """Return suffix -> PromQL of what the engine file gives as series; empty where it gives none or PromQL."""
    concept = CONCEPTS[name]
    if name in engine.gauges:
        return {
            suffix: _newest(engine, engine.gauges[name], how, INSTANCE, lambda series: series)
            for suffix, how in concept.suffixes.items()
        }
    if name in engine.counters:
        return {suffix: _counter(engine, name, concept, how) for suffix, how in concept.suffixes.items()}
    (suffix, *_) = concept.suffixes
    if name in engine.quotients:
        quotient = engine.quotients[name]
        part, of = (_closed(_newest(engine, one, "sum", INSTANCE, _rate)) for one in (quotient.part, quotient.of))
        return {suffix: f"{part}\n/\n({of} > 0)"}
    if name in engine.info:
        info = engine.info[name]
        return {suffix: aggregate("max", ("target", "instance", *info.labels), info.series)}
    if name == "process_start_time_seconds" and engine.process_of:
        return {suffix: _process_start(engine.process_of)}
    return {}


def _counter(engine: Engine, name: str, concept: Concept, how: str) -> str:
    function, window = how.split()

    def over(series: str) -> str:
        grown = f"{function}({series}[{window}])"
        if "reason" in concept.labels and engine.reason_label and engine.reason_label != "reason":
            return f'label_replace({grown}, "reason", "$1", "{engine.reason_label}", "(.*)")'
        return grown

    labels = (*INSTANCE, *(concept.labels if engine.reason_label else ()))
    return _newest(engine, engine.counters[name], "sum", labels, over)


def _process_start(process_of: str) -> str:
    """Return when the process began; the metric names no model, so the model comes from a series of the engine."""
    started = aggregate("max", ("target", "instance"), "process_start_time_seconds")
    present = aggregate("count", INSTANCE, process_of)
    return aggregate("max", INSTANCE, f"{started}\n* on (target, instance) group_right ()\n({present} > bool 0)")


def _quantiles(engine: Engine, latency: str, histograms: list[str]) -> list[Rule]:
    """Return the rules of a latency's quantiles, and of what they rest on.

    The raw buckets are read once, and the quantiles come from their recorded rates: per engine kind, for the bucket
    bounds of two kinds differ. While there are no requests a quantile is NaN; the comparison drops it.
    """
    prefix, stamp = names.prefix(engine.kind), _stamp(engine)
    recorded = names.buckets(latency, prefix)
    count = f"{RATE_WINDOW_SECONDS} * {_by_model(engine, histograms, '_count')} > 0"
    return [
        record(recorded, _by_model(engine, histograms, "_bucket", "le"), **stamp),
        *(
            record(
                names.quantile(latency, name, prefix),
                f"histogram_quantile({value}, {selector(recorded, **stamp)}) >= 0",
                **stamp,
            )
            for name, value in names.QUANTILES.items()
        ),
        record(names.observations(latency, prefix), count, **stamp),
    ]


def _mean(engine: Engine, latency: str, histograms: list[str]) -> Rule:
    """Return the rule of a latency's mean; absent without requests."""
    prefix, stamp = names.prefix(engine.kind), _stamp(engine)
    total, count = (_by_model(engine, histograms, part) for part in ("_sum", "_count"))
    return record(names.quantile(latency, "mean", prefix), f"{total}\n/\n({count} > 0)", **stamp)


def _fit(engine: Engine, latency: str) -> list[Rule]:
    """Return the shares of a latency's observations that lie where its buckets cannot tell quantiles.

    Buckets are cumulative, and the replicas of a target may have other bounds each: the largest finite bucket is the
    fullest one that is not the last, and the first bucket the emptiest. That is also how `histogram_quantile` reads
    such buckets, so the shares belong to the quantiles beside them.
    """
    prefix, stamp = names.prefix(engine.kind), _stamp(engine)
    recorded = names.buckets(latency, prefix)
    buckets, finite = selector(recorded, **stamp), selector(recorded, le="!=+Inf", **stamp)
    everything = f"({aggregate('max', MODEL, buckets)} > 0)"
    beyond, first = aggregate("max", MODEL, finite), aggregate("min", MODEL, buckets)
    return [
        record(names.beyond_buckets(latency, prefix), f"1 - {beyond}\n/\n{everything}", **stamp),
        record(names.first_bucket(latency, prefix), f"{first}\n/\n{everything}", **stamp),
    ]


def _by_model(engine: Engine, histograms: list[str], part: str, *labels: str) -> str:
    """Return the rate of a histogram's part, over instances of which each may have another of the names."""
    if len(histograms) == 1:
        return _newest(engine, histograms, "sum", (*MODEL, *labels), _rate, part)
    return aggregate("sum", (*MODEL, *labels), _newest(engine, histograms, "sum", (*INSTANCE, *labels), _rate, part))


def _closed(expr: str) -> str:
    return block(expr) if "\nor\n" in expr else expr


def _rate(series: str) -> str:
    return f"rate({series}[{RATE_WINDOW}])"


def _newest(engine: Engine, series: list[str], how: str, labels: tuple[str, ...], over: Over, part: str = "") -> str:
    """Return the aggregation of the newest of these series that an instance has.

    Joined after the aggregation, so that a label which only one of the names carries does not count the instance twice.
    """
    return "\nor\n".join(aggregate(how, labels, _one(engine, name, labels, over, part)) for name in series)


def _one(engine: Engine, name: str, labels: tuple[str, ...], over: Over, part: str) -> str:
    bare, _, matchers = name.partition("{")
    inside = ", ".join(filter(None, (engine.only, matchers.removesuffix("}"))))
    expr = over(f"{bare}{part}{{{inside}}}" if inside else f"{bare}{part}")
    for label in engine.model_labels:
        expr = f'label_replace({expr}, "model_name", "$1", "{label}", "(.+)")'
    if engine.copies and name in engine.copies.series:
        rank = tuple(dict.fromkeys((*INSTANCE, engine.copies.rank, *labels)))
        expr = aggregate("max", rank, expr)
    return expr

"""What each recorded series means, for docs/METRICS.md; a test holds it against the rules."""

from typing import NamedTuple

from inferwatch.engines import load_engines
from prometheus import vocabulary as v
from prometheus.concepts import CONCEPTS, provided, recorded

_TARGET = ("target",)
_MONEY = ("target", "currency")
_GPU = ("node", "gpu", "uuid")
_PROBE = ("target", "scenario", "model_name")
_LATENCY_NAMES = {
    "ttft": "Time to first token",
    "tpot": "Time per output token after the first, per request",
    "itl": "Time between tokens, per token or per step of the engine",
    "e2e": "Time to the last token",
    "queue": "Time that a request waited before it was scheduled",
    "prefill": "Time that a request spent in prefill",
    "decode": "Time that a request spent in decode",
    "overhead": "Time that the gateway itself took",
}
_BEYOND = "Share of the observations beyond the largest finite bucket, where quantiles pin, 0 to 1."
_FIRST = "Share of the observations in the first bucket; a quantile up to that share is only an upper bound, 0 to 1."


class Meaning(NamedTuple):
    """One row of the list: names that share labels and a meaning."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    meaning: str


def meanings() -> list[Meaning]:
    """Return what every recorded series means, in the order of the list."""
    return [*_engines(), *_traffic(), *_probes(), *_gpus(), *_costs(), *_baselines()]


def _one(name: str, labels: tuple[str, ...], meaning: str) -> Meaning:
    return Meaning((name,), labels, meaning)


def _quantiles(latency: str, prefix: str, labels: tuple[str, ...], whose: str) -> list[Meaning]:
    what = f"{_LATENCY_NAMES[latency]} {whose}"
    names = tuple(v.quantile(latency, name, prefix) for name in (*v.QUANTILES, "mean"))
    return [
        Meaning(names, labels, f"{what}: quantiles and mean of the last 5 minutes, in seconds."),
        _one(v.observations(latency, prefix), labels, "How many observations these rest on."),
    ]


def _engines() -> list[Meaning]:
    rows = []
    for kind in ("engine", "gateway"):
        prefix, stamp = v.prefix(kind), f"inference_{kind}"
        given = {name for engine in load_engines().values() if engine.kind == kind for name in provided(engine)}
        for name, concept in CONCEPTS.items():
            if name in given:
                labels = (*concept.instance, *concept.labels, stamp)
                rows.append(Meaning(recorded(name, kind), labels, concept.meaning))
        latencies = v.LATENCIES if kind == "engine" else v.GATEWAY_LATENCIES
        for latency in (name for name in latencies if name in given):
            labels = ("target", "model_name", stamp)
            rows += _quantiles(latency, prefix, labels, f"as the {kind} measures it")
            name = v.buckets(latency, prefix)
            rows.append(_one(name, (*labels, "le"), "Observations a second in each bucket of its histogram."))
            rows.append(_one(v.beyond_buckets(latency, prefix), labels, _BEYOND))
            rows.append(_one(v.first_bucket(latency, prefix), labels, _FIRST))
    return rows


def _traffic() -> list[Meaning]:
    return [
        _one(v.USER_OUTPUT_TOKENS_RATE, _TARGET, "Output tokens a second of users: the engine's less the probes'."),
        _one(v.USER_OUTPUT_TOKENS_INCREASE, _TARGET, "Output tokens of users in the last hour."),
        _one(v.USER_PROMPT_TOKENS_INCREASE, _TARGET, "Prompt tokens of users in the last hour."),
        _one(v.USER_REQUESTS_INCREASE, _TARGET, "Requests of users that succeeded in the last hour."),
        _one(
            v.BUSY, _TARGET, "Whether requests run and users cause more output tokens than the probes (1) or not (0)."
        ),
        _one(v.BUSY_RATIO, _TARGET, "Share of the last hour's paid time in which the target was busy, 0 to 1."),
    ]


def _probes() -> list[Meaning]:
    share = "Share of the last 5 minutes' probes that succeeded, without tainted and rate-limited ones, 0 to 1."
    rows = [_one(v.PROBE_SUCCESS_RATIO, _PROBE, share)]
    for latency in v.PROBE_LATENCIES:
        rows += _quantiles(latency, "llm_probe", _PROBE, "as the probes measure it")
        name = v.buckets(latency, "llm_probe")
        rows.append(_one(name, (*_PROBE, "le"), "Probes a second in each bucket of its histogram."))
    return rows


def _gpus() -> list[Meaning]:
    harmful = "The largest of these ratios over the reasons that do harm; a power cap alone is not one of them."
    return [
        _one(v.GPU_UTILIZATION, _GPU, "Share of the driver's last sample period in which a kernel ran, 0 to 1."),
        _one(v.GPU_MEMORY_USED, _GPU, "Share of the GPU's memory that is allocated, 0 to 1."),
        _one(v.GPU_TEMPERATURE, _GPU, "Temperature of the GPU's die, in degrees Celsius."),
        _one(v.GPU_POWER, _GPU, "Power that the board draws, as the driver averages it, in watts."),
        _one(
            v.GPU_THROTTLE_BY_REASON,
            (*_GPU, "reason"),
            "Share of the last 5 minutes in which this reason held the clocks down: from the driver's counter, "
            "or where there is none from samples, 0 to 1.",
        ),
        _one(v.GPU_THROTTLED, _GPU, harmful),
        _one(v.TARGET_GPU_THROTTLED, _TARGET, "The most throttled GPU of those that serve the target, 0 to 1."),
        _one(
            v.GPU_XID_ERRORS,
            (*_GPU, "xid", "source"),
            "XIDs counted since the exporter began; absent while there are none.",
        ),
    ]


def _costs() -> list[Meaning]:
    return [
        _one(v.BURN_PER_HOUR, _MONEY, "What the target costs an hour now, used or not."),
        _one(v.COST_INCREASE, _MONEY, "What the target cost in the last hour."),
        _one(v.COST_PER_MTOK_OUTPUT, _MONEY, "The last hour's cost for each million output tokens of users."),
        _one(v.COST_PER_MTOK_TOTAL, _MONEY, "The last hour's cost for each million tokens of users, prompts included."),
        _one(
            v.COST_PER_1K_REQUESTS, _MONEY, "The last hour's cost for each thousand requests of users that succeeded."
        ),
        _one(
            v.IDLE_COST, _MONEY, "The part of the last hour's cost that was paid while users caused little or nothing."
        ),
    ]


def _baselines() -> list[Meaning]:
    usual = "Its median over the last day ending an hour ago; absent until there is enough of that day."
    rows = []
    for latency in ("ttft", "tpot"):
        engine, probe = v.quantile(latency, "p99"), v.probe_median(latency)
        rows += [
            _one(v.baseline(engine), ("target", "model_name", "inference_engine"), usual),
            _one(probe, _PROBE, f"{_LATENCY_NAMES[latency]}: median of the probes of the last 30 minutes, in seconds."),
            _one(v.probe_median_observations(latency), _PROBE, "How many probes this median rests on."),
            _one(v.baseline(probe), _PROBE, usual),
        ]
    high = "Its 95th percentile over the last day ending an hour ago; absent until there is enough of that day."
    return [*rows, _one(v.baseline(v.GPU_THROTTLED), _GPU, high)]

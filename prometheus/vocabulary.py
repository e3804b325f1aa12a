"""The names of every recorded series, written once; alerts and dashboards import them.

`llm:*` comes from engines, `llm_gateway:*` from gateways in front of them, `llm_probe:*` from probes, `gpu:*` from GPU
exporters; docs/definitions.md defines each. What engines can tell is listed in concepts.py.
Labels: `llm:*` (target, instance, model_name, inference_engine) plus `reason`; latencies, their buckets and what comes
of them (target, model_name, inference_engine) plus `le`; `llm_gateway:*` the same with inference_gateway;
`llm_probe:*` (target, scenario, model_name), summed or maxed over probers; users' traffic (target); money (target,
currency); `gpu:*` (node, gpu, uuid) plus `reason`. Each is absent while there is nothing to tell: a quantile without
requests, a unit cost below a floor of tokens.
"""

# The dashboard that every alert links to, and the one behind its row of probes.
OVERVIEW_UID = "inferwatch-overview"
PROBES_UID = "inferwatch-probes"

LATENCIES = ("ttft", "tpot", "itl", "e2e", "queue", "prefill", "decode")
GATEWAY_LATENCIES = ("ttft", "tpot", "itl", "e2e", "queue", "overhead")
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
PROBE_LATENCIES = ("ttft", "tpot", "e2e")
# Those that pages rest on.
PAGED_LATENCIES = ("ttft", "tpot")

REQUESTS_RUNNING = "llm:requests_running"
REQUESTS_WAITING = "llm:requests_waiting"
KV_CACHE_MAX = "llm:kv_cache_usage_ratio:max"
KV_CACHE_AVG = "llm:kv_cache_usage_ratio:avg"
PROMPT_TOKENS_RATE = "llm:prompt_tokens:rate5m"
PROMPT_TOKENS_INCREASE = "llm:prompt_tokens:increase1h"
OUTPUT_TOKENS_RATE = "llm:output_tokens:rate5m"
OUTPUT_TOKENS_INCREASE = "llm:output_tokens:increase1h"
REQUESTS_FINISHED_RATE = "llm:requests_finished:rate5m"
REQUESTS_SUCCEEDED_INCREASE = "llm:requests_succeeded:increase1h"
PREEMPTIONS_RATE = "llm:preemptions:rate5m"

# Users' traffic: the engine's counters minus what the probes of that target caused.
USER_OUTPUT_TOKENS_RATE = "llm:user_output_tokens:rate5m"
USER_OUTPUT_TOKENS_INCREASE = "llm:user_output_tokens:increase1h"
USER_PROMPT_TOKENS_INCREASE = "llm:user_prompt_tokens:increase1h"
USER_REQUESTS_INCREASE = "llm:user_requests:increase1h"
# 1 while users cause more output tokens than the probes do, else 0; the ratio is its share of the time paid for.
BUSY = "llm:busy"
BUSY_RATIO = "llm:busy_ratio:1h"

PROBE_SUCCESS_RATIO = "llm_probe:success_ratio:5m"

GPU_UTILIZATION = "gpu:utilization_ratio"
GPU_MEMORY_USED = "gpu:memory_used_ratio"
GPU_TEMPERATURE = "gpu:temperature_celsius"
GPU_POWER = "gpu:power_usage_watts"
GPU_THROTTLE_BY_REASON = "gpu:throttle_ratio:5m"
GPU_THROTTLED = "gpu:throttled_ratio:5m"
TARGET_GPU_THROTTLED = "llm:gpu_throttled_ratio:5m"
# Absent for the many that are 0.
GPU_XID_ERRORS = "gpu:xid_errors"

COST_INCREASE = "llm:cost:increase1h"
BURN_PER_HOUR = "llm:burn_per_hour"
COST_PER_MTOK_OUTPUT = "llm:cost_per_mtok_output:1h"
COST_PER_MTOK_TOTAL = "llm:cost_per_mtok_total:1h"
COST_PER_1K_REQUESTS = "llm:cost_per_1k_requests:1h"
IDLE_COST = "llm:idle_cost:1h"

# Recorded for people who ask: no rule, alert or panel reads them. So are the concepts and latencies that none reads.
ASKED_BY_HAND = (GPU_POWER, COST_PER_1K_REQUESTS, PROBE_SUCCESS_RATIO)


def prefix(kind: str) -> str:
    """Return what the series of engines (``llm``) or gateways (``llm_gateway``) begin with."""
    return {"engine": "llm", "gateway": "llm_gateway"}[kind]


def buckets(latency: str, prefix: str = "llm") -> str:
    """Return the name of a latency's recorded bucket rates, e.g. ``llm:ttft_seconds_bucket:rate5m``."""
    return f"{prefix}:{latency}_seconds_bucket:rate5m"


def quantile(latency: str, name: str, prefix: str = "llm") -> str:
    """Return a recorded quantile's or mean's name: ``llm:ttft_seconds:p99_5m``; `name` is p50, p95, p99 or mean."""
    return f"{prefix}:{latency}_seconds:{name}_5m"


def observations(latency: str, prefix: str = "llm") -> str:
    """Return the name of how many observations the quantiles of the last five minutes rest on."""
    return f"{prefix}:{latency}_seconds:count_5m"


def beyond_buckets(latency: str, prefix: str = "llm") -> str:
    """Return the name of the share of observations beyond the largest finite bucket, where a quantile pins."""
    return f"{prefix}:{latency}_seconds:beyond_buckets_ratio_5m"


def first_bucket(latency: str, prefix: str = "llm") -> str:
    """Return the name of the share of observations in the first bucket, where a quantile is only an upper bound."""
    return f"{prefix}:{latency}_seconds:first_bucket_ratio_5m"


def probe_median(latency: str) -> str:
    """Return the name of the probes' median over half an hour, which is what a regression compares."""
    return f"llm_probe:{latency}_seconds:p50_30m"


def probe_median_observations(latency: str) -> str:
    """Return the name of how many probes that median rests on."""
    return f"llm_probe:{latency}_seconds:count_30m"


def baseline(name: str) -> str:
    """Return the name of a series' usual value: taken over the last day ending an hour ago."""
    return f"{name}:baseline_1d"

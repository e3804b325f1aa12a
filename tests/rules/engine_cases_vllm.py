"""Captures of vLLM, and what each concept must be, worked out by hand from what the capture holds."""

from engine_case import SCRAPED, Case, finished, kv, rates, tokens

VLLM = Case(
    "vllm",
    ("vllm-0.32.0-idle.prom", "vllm-0.32.0-after.prom", "vllm-0.32.0-busy.prom"),
    "tiny",
    {"requests_running": 4, "requests_waiting": 0, "sleeping": 0, "config_info": 1}
    | kv(0.0004883110541414881)
    | tokens(311, 2655)
    | finished(stop=0, length=10, abort=0, error=0, repetition=0)
    | rates(requests_failed=0, requests_rejected=0, preemptions=0)
    | {
        "requests_succeeded:increase1h": 10,
        "prefix_cache_hit_ratio:5m": 0 / 311,
        "batch_tokens:mean_5m": 2966 / 856,
        "process_start_time_seconds": 1796035502.31,
    },
    other_labels={
        "config_info": SCRAPED
        | {
            "block_size": "128",
            "cache_dtype": "auto",
            "enable_prefix_caching": "True",
            "gpu_memory_utilization": "0.92",
            "num_gpu_blocks": "16384",
        }
    },
    latencies={
        "ttft": ("vllm:time_to_first_token_seconds", {}),
        "tpot": ("vllm:request_time_per_output_token_seconds", {}),
        "itl": ("vllm:inter_token_latency_seconds", {}),
        "e2e": ("vllm:e2e_request_latency_seconds", {}),
        "queue": ("vllm:request_queue_time_seconds", {}),
        "prefill": ("vllm:request_prefill_time_seconds", {}),
        "decode": ("vllm:request_decode_time_seconds", {}),
    },
)
# The same client each time: pairs of prompts that are alike, one after another, and then six long answers at once, of
# which four run. What it was told stands at the top of each capture.
_CLIENT = (
    tokens(1954, 3920)
    | finished(stop=0, length=14, abort=0, error=0, repetition=0)
    | {"requests_succeeded:increase1h": 14, "prefix_cache_hit_ratio:5m": 512 / 1954}
)
_BUSY = {"requests_running": 4, "requests_waiting": 2} | kv(0.0004883408619216212)
VLLM_TWO_API_SERVERS = Case(
    "vllm",
    ("vllm-0.32.0-two-api-servers-after.prom", "vllm-0.32.0-two-api-servers-busy.prom"),
    "tiny",
    # Both servers count a step that has tokens of both.
    _CLIENT | _BUSY | {"batch_tokens:mean_5m": 5362 / 2720, "sleeping": 0},
    latencies=VLLM.latencies,
)
# Three of the six on each rank, so that none waits. The second of two that are alike came to the other rank, where no
# such prefix was.
VLLM_DATA_PARALLEL = Case(
    "vllm",
    ("vllm-0.32.0-data-parallel-after.prom", "vllm-0.32.0-data-parallel-busy.prom"),
    "tiny",
    _CLIENT
    | {"requests_running": 3 + 3, "requests_waiting": 0, "sleeping": 0, "prefix_cache_hit_ratio:5m": 0 / 1954}
    | {"batch_tokens:mean_5m": 2 * 2937 / (2 * 1360)}
    | kv(0.0003662556464412159),
    latencies=VLLM.latencies,
)
VLLM_EARLIER = Case(
    "vllm",
    ("vllm-0.28.0-after.prom", "vllm-0.28.0-busy.prom"),
    "tiny",
    _CLIENT | _BUSY | {"batch_tokens:mean_5m": 5362 / 1520, "process_start_time_seconds": 1796066897.36},
    latencies=VLLM.latencies,
)
VLLM_DRAFTING = Case(
    "vllm",
    ("vllm-0.32.0-speculative-after.prom",),
    "tiny",
    # A step makes several tokens: 1568 of them for 3920 - 14 tokens after the first.
    _CLIENT | {"spec_decode_acceptance_ratio:5m": 2346 / 2987, "batch_tokens:mean_5m": 5362 / 612},
    latencies={"itl": VLLM.latencies["itl"], "tpot": VLLM.latencies["tpot"]},
)
VLLM_ADAPTER = Case(
    "vllm",
    ("vllm-0.32.0-adapter-busy.prom",),
    "tiny",
    _BUSY | {"lora_info": 1},
    other_labels={
        "lora_info": SCRAPED
        | {"max_lora": "1", "running_lora_adapters": "tiny-adapter", "waiting_lora_adapters": "tiny-adapter"}
    },
)
VLLM_SPECULATIVE = Case(
    "vllm",
    ("vllm-0.32.0-spec-lora.prom",),
    "tiny",
    {
        "prefix_cache_hit_ratio:5m": 480 / 636,
        "spec_decode_acceptance_ratio:5m": 1 / 1197,
        "batch_tokens:mean_5m": 1356 / 1199,
        "lora_info": 1,
    }
    | tokens(636, 1200),
    # No adapter runs or waits, and an empty label is none.
    other_labels={"lora_info": SCRAPED | {"max_lora": "1"}},
)
# Old and new names at once, of the same observations: each counts once.
VLLM_BOTH = Case(
    "vllm",
    ("vllm-0.11.2.prom",),
    "tiny",
    {"requests_running": 3, "requests_waiting": 1, "prefix_cache_hit_ratio:5m": 50 / 200, "sleeping": 0}
    | kv(0.4)
    | tokens(200, 700)
    | finished(stop=7, length=2, abort=1)
    | rates(preemptions=2)
    | {"requests_succeeded:increase1h": 7 + 2, "batch_tokens:mean_5m": 900},
    latencies=VLLM.latencies,
)
VLLM_OLD = Case(
    "vllm",
    ("vllm-0.8.prom",),
    "old",
    {"requests_running": 2, "requests_waiting": 1, "prefix_cache_hit_ratio:5m": 30 / 120} | kv(0.5),
    latencies={"itl": ("vllm:time_per_output_token_seconds", {})},
)
CASES = [
    VLLM,
    VLLM_TWO_API_SERVERS,
    VLLM_DATA_PARALLEL,
    VLLM_EARLIER,
    VLLM_DRAFTING,
    VLLM_ADAPTER,
    VLLM_SPECULATIVE,
    VLLM_BOTH,
    VLLM_OLD,
]

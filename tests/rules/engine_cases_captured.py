"""Captures of other engines and gateways, and what each concept must be, worked out by hand from what they hold."""

from engine_case import SCRAPED, Case, finished, kv, rates, tokens
from rules_replay import SECONDS

LLAMACPP = Case(
    "llamacpp",
    ("llamacpp-b11549-idle.prom", "llamacpp-b11549-after.prom", "llamacpp-b11434-busy.prom"),
    "smol",
    {"requests_running": 2, "requests_waiting": 1, "prefix_cache_hit_ratio:5m": 24 / (85 + 24)}
    | tokens(85 + 24, 270)
    | {"tpot_seconds:mean_5m": 22.8861 / 270},
    given={"model_name": "smol"},
    other_labels={"tpot_seconds:mean_5m": {"target": "t", "model_name": "smol"}},
)
SGLANG = Case(
    "sglang",
    ("sglang-0.5.23.prom",),
    "Qwen/Qwen3-8B",
    {"requests_running": 3, "requests_waiting": 2 + 0, "prefix_cache_hit_ratio:5m": 150 / 450}
    | kv(0.41)
    # The rate counts tokens as they are made, the hour those of requests that ended.
    | tokens(450, 205)
    | {"output_tokens:rate5m": 900 / SECONDS}
    | rates(requests_finished=5, requests_aborted=1)
    | {"requests_succeeded:increase1h": 5 - 1},
    latencies={
        "ttft": ("sglang:time_to_first_token_seconds", {}),
        "tpot": ("sglang:request_time_per_output_token_seconds", {}),
        "itl": ("sglang:inter_token_latency_seconds", {}),
        "e2e": ("sglang:e2e_request_latency_seconds", {}),
        "queue": ("sglang:queue_time_seconds", {}),
        "prefill": ("sglang:per_stage_req_latency_seconds", {"stage": "prefill_forward"}),
    },
)
SGLANG_OTHER = Case(
    "sglang",
    ("sglang-other-names.prom",),
    "old",
    {
        "requests_running": 2,
        "requests_waiting": 1,
        "kv_cache_capacity_tokens": 100000,
        "max_context_tokens": 4096,
        "lora_slots_used_ratio": 0.25,
        "output_tokens:rate5m": 400 / SECONDS,
        "output_tokens:increase1h": 400,
        "spec_decode_acceptance_ratio:5m": 0.6,
    }
    | kv(0.5)
    | rates(preemptions=20, requests_failed=10),
    latencies={
        "itl": ("sglang:time_per_output_token_seconds", {}),
        "queue": ("sglang:queue_time_s", {}),
    },
)
LMDEPLOY = Case(
    "lmdeploy",
    ("lmdeploy-0.18.0.prom",),
    "internlm/internlm3-8b-instruct",
    {"requests_running": 2, "requests_waiting": 1 + 0, "process_start_time_seconds": 1796037007.38}
    | kv(0.21)
    | tokens(80, 40)
    | finished(**{"ResponseType.FINISH": 1, "ResponseType.CANCEL": 0})
    | rates(requests_failed=0, requests_aborted=0, requests_rejected=0)
    | {
        "requests_succeeded:increase1h": 1,
        "prefix_cache_hit_ratio:5m": 16 / 80,
        "batch_tokens:mean_5m": 120 / 20,
    },
    latencies={
        "ttft": ("lmdeploy:time_to_first_token_seconds", {}),
        "itl": ("lmdeploy:time_per_output_token_seconds", {}),
        "e2e": ("lmdeploy:e2e_request_latency_seconds", {}),
        "queue": ("lmdeploy:request_queue_time_seconds", {}),
        "prefill": ("lmdeploy:request_prefill_time_seconds", {}),
        "decode": ("lmdeploy:request_decode_time_seconds", {}),
    },
)
LITELLM = Case(
    "litellm",
    ("litellm-1.95.1.prom",),
    "tiny",
    {"requests_running": 1, "requests_succeeded:increase1h": 4}
    | tokens(36, 83)
    | finished(**{"200": 4, "500": 1})
    | rates(requests_failed=1),
    # What is in flight is counted over all models.
    other_labels={"requests_running": SCRAPED},
    latencies={
        "ttft": ("litellm_llm_api_time_to_first_token_metric", {}),
        "e2e": ("litellm_request_total_latency_metric", {}),
        "queue": ("litellm_request_queue_time_seconds", {}),
        "overhead": ("litellm_overhead_latency_metric", {}),
    },
)
DYNAMO_FRONTEND = Case(
    "dynamo-frontend",
    ("dynamo-frontend-1.6.1.prom",),
    "tiny",
    {
        "requests_running": 0 - 0,
        "requests_waiting": 0,
        "requests_succeeded:increase1h": 3,
        "prefix_cache_hit_ratio:5m": 0 / 18,
        "kv_cache_capacity_tokens": 16384 * 64,
    }
    | tokens(18, 90)
    | finished(success=3),
    latencies={
        "ttft": ("dynamo_frontend_time_to_first_token_seconds", {}),
        "itl": ("dynamo_frontend_inter_token_latency_seconds", {}),
        "e2e": ("dynamo_frontend_request_duration_seconds", {"model": "tiny"}),
    },
)
CASES = [LLAMACPP, SGLANG, SGLANG_OTHER, LMDEPLOY, LITELLM, DYNAMO_FRONTEND]

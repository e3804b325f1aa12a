"""Fixtures written from the declarations in an engine's source, and what each concept must be, worked out by hand.

Their headers name file and commit. Values are invented, so that each figure is another one.
"""

from engine_case import SCRAPED, Case, finished, kv, rates, tokens
from rules_replay import SECONDS, Labels

MODEL: Labels = {"model_name": "m"}
TRTLLM_SERVE = Case(
    "trtllm-serve",
    ("trtllm-serve.prom",),
    "m",
    {"requests_running": 3, "requests_waiting": 2, "kv_cache_capacity_tokens": 1000 * 32}
    | kv(0.4)
    | tokens(500, 700)
    | finished(stop=8, length=2)
    # One 500, and two 400.
    | rates(requests_failed=1, requests_rejected=2)
    | {
        "requests_succeeded:increase1h": 10,
        "prefix_cache_hit_ratio:5m": 100 / 500,
        "spec_decode_acceptance_ratio:5m": 150 / 300,
    },
    latencies={
        "ttft": ("trtllm_time_to_first_token_seconds", {}),
        "tpot": ("trtllm_time_per_output_token_seconds", {}),
        "e2e": ("trtllm_e2e_request_latency_seconds", {}),
        "queue": ("trtllm_request_queue_time_seconds", {}),
        "prefill": ("trtllm_request_prefill_time_seconds", {}),
        "decode": ("trtllm_request_decode_time_seconds", {}),
    },
)
TGI = Case(
    "tgi",
    ("tgi-3.prom",),
    "m",
    {"requests_running": 4, "requests_waiting": 3}
    | tokens(1200, 5400)
    | finished(success=109, validation=2, overloaded=1, generation=1, incomplete=2, dropped=1)
    | rates(requests_failed=1 + 2, requests_aborted=1, requests_rejected=2 + 1)
    | {"requests_succeeded:increase1h": 109, "batch_size:mean_5m": (2 * 1 + 6 * 3 + 2 * 4) / 10},
    given=MODEL,
    latencies={"e2e": ("tgi_request_duration", {}), "queue": ("tgi_request_queue_duration", {})},
)
TRITON_VLLM = Case(
    "triton-vllm",
    ("triton-vllm.prom",),
    "vllm_model",
    tokens(100, 160),
    latencies={
        "ttft": ("vllm:time_to_first_token_seconds", {}),
        "itl": ("vllm:time_per_output_token_seconds", {}),
        "e2e": ("vllm:e2e_request_latency_seconds", {}),
    },
)
# The ensemble's requests are those of its member, which alone counts.
TRITON_TRTLLM = Case(
    "triton-trtllm",
    ("triton-trtllm.prom",),
    "tensorrt_llm",
    {"requests_running": 3, "requests_waiting": 1, "kv_cache_capacity_tokens": 6239 * 64}
    | kv(0.5)
    | tokens(15 * 30 + 5 * 600, 10 * 40 + 9 * 200 + 1200)
    | finished(success=20, REJECTED=3, CANCELED=2, BACKEND=1, OTHER=1)
    | rates(requests_failed=1 + 1, requests_aborted=2, requests_rejected=3)
    | {
        "requests_succeeded:increase1h": 20,
        "batch_size:mean_5m": 20 / 5,
        "e2e_seconds:mean_5m": 9 / 20,
        "queue_seconds:mean_5m": 0.4 / 20,
    },
    other_labels={
        name: {"target": "t", "model_name": "tensorrt_llm"} for name in ("e2e_seconds:mean_5m", "queue_seconds:mean_5m")
    },
)
PRODUCTION_STACK = Case(
    "production-stack",
    ("production-stack.prom",),
    "m",
    {"requests_running": 3 + 2, "requests_succeeded:increase1h": 10 + 10}
    | finished(success=10 + 10, error=2)
    | rates(requests_failed=2),
    # Of an engine behind it, not of a model.
    other_labels={"requests_running": SCRAPED},
    latencies={"e2e": ("vllm:request_latency_seconds", {})},
)
INFERENCE_GATEWAY = Case(
    "inference-gateway",
    ("inference-gateway.prom",),
    "m",
    {"requests_running": 4, "prefix_cache_hit_ratio:5m": 100 / 500, "requests_finished:rate5m": 10 / SECONDS}
    | tokens(500, 700)
    | rates(requests_failed=1),
    latencies={
        "ttft": ("inference_objective_request_ttft_seconds", {}),
        "tpot": ("inference_objective_request_tpot_seconds", {}),
        "e2e": ("inference_objective_request_duration_seconds", {}),
    },
)
CASES = [TRTLLM_SERVE, TGI, TRITON_VLLM, TRITON_TRTLLM, PRODUCTION_STACK, INFERENCE_GATEWAY]

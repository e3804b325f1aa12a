"""Captures of engines and gateways, and what each concept must be, worked out by hand from what the capture holds."""

from dataclasses import dataclass, field

from rules_replay import SECONDS, Labels, Replay, capture, from_zero

from inferwatch.engines import load_engines
from prometheus import vocabulary as names

SCRAPED = {"target": "t", "instance": "host:1"}


@dataclass(frozen=True)
class Case:
    """One capture, or two: after, and the one whose gauges hold; or three: before, after, and that one.

    Attributes:
        engine: The engine file.
        captures: Files in fixtures. Without the first, counters grow from 0; with a single one, its gauges hold.
        model_name: The label that is expected on what is recorded.
        given: The same as a label that discovery sets, for an engine that does not name its model.
        expected: Recorded name without prefix, with a selector for `reason` -> value.
        other_labels: Name -> the labels that it has instead of target, instance and model.
        latencies: Latency -> the engine's histogram, and the labels of its series that count.
    """

    engine: str
    captures: tuple[str, ...]
    model_name: str
    expected: dict[str, float]
    given: Labels = field(default_factory=dict)
    other_labels: dict[str, Labels] = field(default_factory=dict)
    latencies: dict[str, tuple[str, Labels]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.captures[-1].removesuffix(".prom")

    @property
    def prefix(self) -> str:
        return names.prefix(load_engines()[self.engine].kind)

    @property
    def stamp(self) -> Labels:
        return {f"inference_{load_engines()[self.engine].kind}": self.engine}

    def replay(self) -> Replay:
        captured = [capture(file) for file in self.captures]
        *first, last, held = captured if len(captured) > 1 else captured * 2
        return Replay(first[0] if first else from_zero(last), last, held, {"job": "llm-engine"} | SCRAPED | self.given)

    def labels_of(self, name: str) -> Labels:
        if name in self.other_labels:
            return self.other_labels[name] | self.stamp
        reason = {"reason": name.split('"')[1]} if "{" in name else {}
        return SCRAPED | {"model_name": self.model_name} | self.stamp | reason


def _tokens(prompt: float, output: float) -> dict[str, float]:
    return {
        "prompt_tokens:rate5m": prompt / SECONDS,
        "prompt_tokens:increase1h": prompt,
        "output_tokens:rate5m": output / SECONDS,
        "output_tokens:increase1h": output,
    }


def _finished(**reasons: float) -> dict[str, float]:
    return {f'requests_finished:rate5m{{reason="{reason}"}}': count / SECONDS for reason, count in reasons.items()}


def _rates(**counts: float) -> dict[str, float]:
    return {f"{name}:rate5m": count / SECONDS for name, count in counts.items()}


def _kv(ratio: float) -> dict[str, float]:
    return {"kv_cache_usage_ratio:max": ratio, "kv_cache_usage_ratio:avg": ratio}


VLLM = Case(
    "vllm",
    ("vllm-0.32.0-idle.prom", "vllm-0.32.0-after.prom", "vllm-0.32.0-busy.prom"),
    "tiny",
    {"requests_running": 4, "requests_waiting": 0, "sleeping": 0, "config_info": 1}
    | _kv(0.0004883110541414881)
    | _tokens(311, 2655)
    | _finished(stop=0, length=10, abort=0, error=0, repetition=0)
    | _rates(requests_failed=0, requests_rejected=0, preemptions=0)
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
    _tokens(1954, 3920)
    | _finished(stop=0, length=14, abort=0, error=0, repetition=0)
    | {"requests_succeeded:increase1h": 14, "prefix_cache_hit_ratio:5m": 512 / 1954}
)
_BUSY = {"requests_running": 4, "requests_waiting": 2} | _kv(0.0004883408619216212)
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
    | _kv(0.0003662556464412159),
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
    | _tokens(636, 1200),
    # No adapter runs or waits, and an empty label is none.
    other_labels={"lora_info": SCRAPED | {"max_lora": "1"}},
)
VLLM_OLD = Case(
    "vllm",
    ("vllm-0.8.prom",),
    "old",
    {"requests_running": 2, "requests_waiting": 1, "prefix_cache_hit_ratio:5m": 30 / 120} | _kv(0.5),
    latencies={"itl": ("vllm:time_per_output_token_seconds", {})},
)
LLAMACPP = Case(
    "llamacpp",
    ("llamacpp-b11549-idle.prom", "llamacpp-b11549-after.prom", "llamacpp-b11434-busy.prom"),
    "smol",
    {"requests_running": 2, "requests_waiting": 1, "prefix_cache_hit_ratio:5m": 24 / (85 + 24)}
    | _tokens(85 + 24, 270)
    | {"tpot_seconds:mean_5m": 22.8861 / 270},
    given={"model_name": "smol"},
    other_labels={"tpot_seconds:mean_5m": {"target": "t", "model_name": "smol"}},
)
SGLANG = Case(
    "sglang",
    ("sglang-0.5.23.prom",),
    "Qwen/Qwen3-8B",
    {"requests_running": 3, "requests_waiting": 2 + 0, "prefix_cache_hit_ratio:5m": 150 / 450}
    | _kv(0.41)
    # The rate counts tokens as they are made, the hour those of requests that ended.
    | _tokens(450, 205)
    | {"output_tokens:rate5m": 900 / SECONDS}
    | _rates(requests_finished=5, requests_aborted=1)
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
    | _kv(0.5)
    | _rates(preemptions=20, requests_failed=10),
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
    | _kv(0.21)
    | _tokens(80, 40)
    | _finished(**{"ResponseType.FINISH": 1, "ResponseType.CANCEL": 0})
    | _rates(requests_failed=0, requests_aborted=0, requests_rejected=0)
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
    | _tokens(36, 83)
    | _finished(**{"200": 4, "500": 1})
    | _rates(requests_failed=1),
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
    | _tokens(18, 90)
    | _finished(success=3),
    latencies={
        "ttft": ("dynamo_frontend_time_to_first_token_seconds", {}),
        "itl": ("dynamo_frontend_inter_token_latency_seconds", {}),
        "e2e": ("dynamo_frontend_request_duration_seconds", {"model": "tiny"}),
    },
)
CASES = [
    VLLM,
    VLLM_TWO_API_SERVERS,
    VLLM_DATA_PARALLEL,
    VLLM_EARLIER,
    VLLM_DRAFTING,
    VLLM_ADAPTER,
    VLLM_SPECULATIVE,
    VLLM_OLD,
    LLAMACPP,
    SGLANG,
    SGLANG_OTHER,
    LMDEPLOY,
    LITELLM,
    DYNAMO_FRONTEND,
]
# What the captures hold nothing of, so that no value can be expected: engine -> recorded name -> why.
NOT_CAPTURED = {
    "llamacpp": {"spec_decode_acceptance_ratio:5m": "nothing was drafted"},
    "lmdeploy": {"spec_decode_acceptance_ratio:5m": "nothing was drafted"},
    "litellm": {"requests_rejected:rate5m": "no request was refused"},
    "dynamo-frontend": {
        "requests_failed:rate5m": "only a request for an unknown model failed",
        "max_context_tokens": "the mocker says 0, which is none",
    },
}

"""Every metric of the probe exporter: what probes measured, and what the configuration says."""

from exporters.probe import ladders
from inferwatch.metric import Metric

PROBE = ("target", "scenario", "model_name")
TARGET = ("target",)

# The closed set of outcomes (docs/definitions.md); each is pre-created at 0.
OUTCOMES = (
    "success", "dns", "connect", "tls", "ttft_timeout", "gap_timeout", "deadline", "auth", "not_found", "rate_limited",
    "http_4xx", "http_5xx", "not_stream", "stream_error", "truncated", "connection_lost", "no_tokens", "finish_reason",
    "check_failed", "tainted", "internal",
)  # fmt: skip
# Why answers end, in OpenAI's words; each is pre-created at 0.
FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter", "other")
SKIP_REASONS = ("overlap", "misfire", "budget", "backoff")
# Why probes of a target pause: the day's budget is spent, or the server said Retry-After.
PAUSE_REASONS = ("budget", "retry_after")
# What a server says that it did itself: load the model, read the prompt, write the answer.
SERVER_PHASES = ("load", "prefill", "decode")
PHASES = ("dns", "tcp", "tls", "send", "headers", "first_event", "tail")


# Measured
TTFT = Metric(
    "llm_probe_ttft_seconds",
    "histogram",
    "Time from the start of sending, on a connection already made, to the first token event of a successful probe.",
    PROBE,
    ladders.FINE.ttft,
)
TPOT = Metric(
    "llm_probe_tpot_seconds",
    "histogram",
    "Time per output token after the first event of a success; absent below two tokens or for a buffered stream.",
    PROBE,
    ladders.FINE.tpot,
)
E2E = Metric(
    "llm_probe_e2e_seconds",
    "histogram",
    "Time from the start of sending to the last token event of a successful probe.",
    PROBE,
    ladders.FINE.e2e,
)
STARTED = Metric("llm_probe_started_total", "counter", "Probes that were started.", PROBE)
REQUESTS = Metric("llm_probe_requests_total", "counter", "Probes that ended, by outcome.", (*PROBE, "outcome"))
SKIPPED = Metric(
    "llm_probe_skipped_total",
    "counter",
    "Probes that were due and not started: overlap (the last still ran), misfire (too late), budget (spent for today), "
    "backoff (the target fails again and again, or asked to be left alone).",
    (*PROBE, "reason"),
)
FINISHED = Metric(
    "llm_probe_finish_reasons_total",
    "counter",
    "Answers of probes that ended with a reason, by what the server gave as it; other is any further one.",
    (*PROBE, "reason"),
)
SLO_GOOD = Metric(
    "llm_probe_slo_good_total",
    "counter",
    "Successful probes that met every latency objective of their target.",
    PROBE,
)
PRIMED = Metric(
    "llm_probe_primed_total",
    "counter",
    "Requests that a server answered to fill its prefix cache before a probe; absent without `primed`.",
    PROBE,
)
OUTPUT_TOKENS = Metric("llm_probe_output_tokens_total", "counter", "Output tokens that probes caused.", PROBE)
PROMPT_TOKENS = Metric("llm_probe_prompt_tokens_total", "counter", "Prompt tokens that probes caused.", PROBE)
PHASE_SUM = Metric(
    "llm_probe_phase_seconds_sum",
    "counter",
    "Time that probes spent in a phase of the request.",
    (*PROBE, "phase"),
)
PHASE_COUNT = Metric(
    "llm_probe_phase_seconds_count",
    "counter",
    "How many probes went through a phase of the request.",
    (*PROBE, "phase"),
)
LAST_SUCCESS = Metric(
    "llm_probe_last_success", "gauge", "Whether the last probe succeeded (1, also when tainted) or not (0).", PROBE
)
LAST_TTFT = Metric("llm_probe_last_ttft_seconds", "gauge", "TTFT of the last probe; absent when it failed.", PROBE)
LAST_TTFO = Metric(
    "llm_probe_last_ttfo_seconds",
    "gauge",
    "Time to the first text of the last probe that a user sees, after any reasoning; absent if it failed or has none.",
    PROBE,
)
LAST_TPOT = Metric("llm_probe_last_tpot_seconds", "gauge", "TPOT of the last probe; absent when it has none.", PROBE)
LAST_E2E = Metric("llm_probe_last_e2e_seconds", "gauge", "E2E latency of the last probe; absent when it failed.", PROBE)
LAST_OUTPUT_TOKENS = Metric(
    "llm_probe_last_output_tokens", "gauge", "Output tokens of the last probe; absent when it failed.", PROBE
)
LAST_RUN_TIMESTAMP = Metric(
    "llm_probe_last_run_timestamp_seconds",
    "gauge",
    "When the last probe ended, as Unix time; absent before the first.",
    PROBE,
)
LAST_SERVER = Metric(
    "llm_probe_last_server_seconds",
    "gauge",
    "How long the server says that it took for a phase of the last probe; absent when it failed or does not say.",
    (*PROBE, "phase"),
)
INTERVAL = Metric("llm_probe_interval_seconds", "gauge", "The configured time between two probes.", PROBE)
TOKEN_SOURCE_INFO = Metric(
    "llm_probe_token_source_info",
    "gauge",
    "Where the token counts come from, always 1: usage (the server counted) or chunks (the server sent no usage).",
    (*PROBE, "source"),
)
STREAM_BUFFERED = Metric(
    "llm_probe_stream_buffered",
    "gauge",
    "Whether the last successful stream arrived all at once (1) or not (0).",
    PROBE,
)

HTTP_RESPONSES = Metric(
    "llm_probe_http_responses_total",
    "counter",
    "Scheduled probes that the server answered, by the status of its last answer; a code other than 200 is absent "
    "before it is seen, and beyond a dozen of a target they are other.",
    ("target", "code"),
)
PARAM_FALLBACK_INFO = Metric(
    "llm_probe_param_fallback_info",
    "gauge",
    "A parameter that a target refuses and probes send no more, always 1; instead names what they send, or none.",
    ("target", "parameter", "instead"),
)
RESPONSE_MODEL_INFO = Metric(
    "llm_probe_response_model_info",
    "gauge",
    "What the last answer of a target called its model and its system_fingerprint, and the version that its server "
    "gives, always 1; absent without any of them.",
    ("target", "model_name", "response_model", "fingerprint", "server_version"),
)
IDENTITY_CHANGES = Metric(
    "llm_probe_model_identity_changes_total",
    "counter",
    "How often a target began to name another model, system_fingerprint or server_version than before.",
    ("target", "model_name", "field"),
)
PAUSED = Metric(
    "llm_probe_paused",
    "gauge",
    "Whether probes of a target pause (1) or not (0): budget (spent for today), retry_after (the server asked for it).",
    ("target", "reason"),
)
BUDGET_LEFT_TOKENS = Metric(
    "llm_probe_budget_left_tokens",
    "gauge",
    "Tokens that probes of a target may still use today (UTC); absent without such a budget.",
    TARGET,
)
BUDGET_LEFT_MONEY = Metric(
    "llm_probe_budget_left_money",
    "gauge",
    "Money that probes of a target may still cost today (UTC); absent without such a budget.",
    ("target", "currency"),
)
PROBE_COST = Metric(
    "llm_probe_cost_total",
    "counter",
    "Money that probes of a target have cost since this exporter began to count; absent without prices per token.",
    ("target", "currency"),
)

# Configured
TARGETS_CONFIGURED = Metric("llm_targets_configured", "gauge", "How many targets the configuration in force holds.")
TARGET_INFO = Metric(
    "llm_target_info",
    "gauge",
    "What a target is, always 1; the file's own labels are added.",
    ("target", "url", "api", "engine"),
)
TARGET_ENGINE_INFO = Metric(
    "llm_target_engine_info",
    "gauge",
    "Which engine is at an address of a target, always 1; absent while unknown. "
    "by: configuration, metrics, models, info or headers.",
    ("target", "address", "inference_engine", "by"),
)
TARGET_METRICS_CONFIGURED = Metric(
    "llm_target_engine_replicas",
    "gauge",
    "How many metrics addresses of engines the configuration lists for the target.",
    TARGET,
)
TARGET_SLO = Metric(
    "llm_target_slo_seconds",
    "gauge",
    "The latency objective of a target: this quantile must be at or under this time.",
    ("target", "slo", "quantile"),
)
TARGET_GPU_INFO = Metric(
    "llm_target_gpu_info", "gauge", "Which GPU serves a target, always 1.", ("target", "node", "gpu")
)
TARGET_GPUS = Metric("llm_target_gpus", "gauge", "How many GPUs a target is paid for.", TARGET)
TARGET_COST_PER_HOUR = Metric(
    "llm_target_cost_per_hour",
    "gauge",
    "What a target costs an hour now, used or not.",
    ("target", "currency", "basis"),
)
TARGET_COST = Metric(
    "llm_target_cost_total",
    "counter",
    "Money that a target has cost since this exporter began to count.",
    ("target", "currency", "basis", "component"),
)
TARGET_TOKEN_PRICE = Metric(
    "llm_target_price_per_mtok",
    "gauge",
    "Price of a million tokens of a target that is paid by the token.",
    ("target", "currency", "direction"),
)
TARGET_PRICE_MISSING = Metric(
    "llm_target_price_missing",
    "gauge",
    "Whether the configuration gives a target no price (1) or one (0).",
    TARGET,
)
TARGET_COST_LIMIT = Metric(
    "llm_target_cost_limit_per_mtok",
    "gauge",
    "Alert when a million output tokens cost more than this.",
    ("target", "currency"),
)
GPU_EXPORTER_EXPECTED = Metric(
    "llm_gpu_exporter_expected_gpus", "gauge", "How many GPUs the configuration expects on a node.", ("node",)
)

# Health of the exporter itself
BUILD_INFO = Metric(
    "llm_probe_exporter_build_info",
    "gauge",
    "Versions of the probe exporter and what it runs on, always 1.",
    ("version", "python_version"),
)
CONFIG_RELOAD_SUCCESSFUL = Metric(
    "llm_probe_exporter_config_last_reload_successful",
    "gauge",
    "Whether the last attempt to read the configuration succeeded (1) or the last good one stays in force (0).",
)
WEB_CONFIG_RELOAD_SUCCESSFUL = Metric(
    "llm_probe_exporter_web_config_last_reload_successful",
    "gauge",
    "Whether the last attempt to read --web.config.file and its certificates succeeded (1) or not (0); "
    "absent without that flag.",
)
CONFIG_RELOAD_TIMESTAMP = Metric(
    "llm_probe_exporter_config_last_reload_success_timestamp_seconds",
    "gauge",
    "When the configuration in force was read, as Unix time.",
)
CONFIG_FROM_STATE = Metric(
    "llm_probe_exporter_config_from_state",
    "gauge",
    "Whether the configuration in force is the copy in the state folder (1), as the file itself is broken, or not (0).",
)
LAG = Metric(
    "llm_probe_exporter_lag_seconds",
    "histogram",
    "How much too long a sleep of 5 ms took in this process, which is how late its probes may stamp what comes.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5),
)
INFLIGHT = Metric("llm_probe_exporter_inflight", "gauge", "Probes that run now.")

ALL = tuple(value for value in list(globals().values()) if isinstance(value, Metric))

"""What probes measured, by target, scenario and model."""

from exporters.probe.metrics import ladders
from exporters.probe.metrics.declare import PROBE
from inferwatch.metric import Metric

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
    "Probes that were due and not started: overlap (the last one runs or waits), misfire (too late), "
    "budget (spent for today), backoff (it fails, or asked for it), asleep (it must not be woken).",
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

"""The labels of the probe exporter's series, and the closed sets of their values."""

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
SKIP_REASONS = ("overlap", "misfire", "budget", "backoff", "asleep")
# Why probes of a target pause: the day's budget is spent, the server said Retry-After, or sleeps and must not be woken.
PAUSE_REASONS = ("budget", "retry_after", "asleep")
# What a server says that it did itself: load the model, read the prompt, write the answer.
SERVER_PHASES = ("load", "prefill", "decode")
PHASES = ("dns", "tcp", "tls", "send", "headers", "first_event", "tail")

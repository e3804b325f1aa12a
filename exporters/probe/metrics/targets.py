"""What probes found out about a target, and what they may still spend on it."""

from exporters.probe.metrics.declare import TARGET
from inferwatch.metric import Metric

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
    "Whether probes of a target pause (1) or not (0): budget (spent for today), retry_after (the server asked for it), "
    "asleep (it sleeps, and must not be woken).",
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

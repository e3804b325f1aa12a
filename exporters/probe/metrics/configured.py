"""What the configuration says, so that static rules can use it."""

from exporters.probe.metrics.declare import TARGET
from inferwatch.metric import Metric

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

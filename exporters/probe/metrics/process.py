"""The health of the exporter itself."""

from inferwatch.metric import Metric

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
INFLIGHT = Metric(
    "llm_probe_exporter_inflight",
    "gauge",
    "Probes of the schedule that run now: those that llm_probe_started_total counts and no outcome yet.",
)
INFLIGHT_ON_REQUEST = Metric(
    "llm_probe_exporter_inflight_on_request",
    "gauge",
    "Probes of configured targets that run now because somebody asked /probe; "
    "llm_probe_started_total counts none of them.",
)

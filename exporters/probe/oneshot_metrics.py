"""The metrics of `/probe`: one probe, named as blackbox_exporter names them, so that its rules and panels fit."""

from inferwatch.metric import Metric

SUCCESS = Metric("probe_success", "gauge", "Whether the probe succeeded (1) or not (0).")
DURATION = Metric(
    "probe_duration_seconds", "gauge", "How long the probe took; absent for one that the schedule had run already."
)
TIMEOUT = Metric("probe_timeout_seconds", "gauge", "The deadline that a probe run for this scrape has or would have.")
AGE = Metric("probe_age_seconds", "gauge", "How long ago the probe ended: up to an interval, as results are shared.")
OUTCOME_INFO = Metric(
    "probe_llm_outcome_info", "gauge", "How the probe ended, always 1.", ("outcome", "model_name", "scenario")
)
STATUS = Metric("probe_http_status_code", "gauge", "The status that the server answered; absent without an answer.")
TTFT = Metric("probe_llm_ttft_seconds", "gauge", "Time to the first token event; absent when none came.")
TPOT = Metric("probe_llm_tpot_seconds", "gauge", "Time per output token after the first event; absent if undefined.")
E2E = Metric("probe_llm_e2e_seconds", "gauge", "Time to the last token event; absent when none came.")
OUTPUT_TOKENS = Metric("probe_llm_output_tokens", "gauge", "Output tokens; absent when none came.")
PROMPT_TOKENS = Metric("probe_llm_prompt_tokens", "gauge", "Prompt tokens as the server counted them.")
PHASE = Metric("probe_llm_phase_seconds", "gauge", "Time in a phase of the request that was reached.", ("phase",))

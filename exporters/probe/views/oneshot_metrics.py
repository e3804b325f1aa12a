"""The metrics of `/probe`: one probe, named as blackbox_exporter names them, so that its rules and panels fit."""

from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from exporters.probe.asking.run import ProbeResult
from exporters.probe.series.families import Families
from inferwatch.metric import Metric

SUCCESS = Metric(
    "probe_success",
    "gauge",
    "Whether the answer was good (1) or not (0); 1 also of a tainted probe, whose times are absent.",
)
DURATION = Metric(
    "probe_duration_seconds", "gauge", "How long the probe took; absent for one that the schedule had run already."
)
TIMEOUT = Metric("probe_timeout_seconds", "gauge", "The deadline that the probe had; of a primed one, each request.")
AGE = Metric("probe_age_seconds", "gauge", "How long ago the probe ended: up to an interval, as results are shared.")
OUTCOME_INFO = Metric(
    "probe_llm_outcome_info", "gauge", "How the probe ended, always 1.", ("outcome", "model_name", "scenario")
)
STATUS = Metric("probe_http_status_code", "gauge", "The status that the server answered; absent without an answer.")
TTFT = Metric("probe_llm_ttft_seconds", "gauge", "Time to the first token event; absent when none came, or if tainted.")
TTFO = Metric(
    "probe_llm_ttfo_seconds", "gauge", "Time to the first text that a user sees; absent when none came, or if tainted."
)
TPOT = Metric(
    "probe_llm_tpot_seconds", "gauge", "Time per output token after the first event; absent if undefined or tainted."
)
E2E = Metric("probe_llm_e2e_seconds", "gauge", "Time to the last token event; absent when none came, or if tainted.")
OUTPUT_TOKENS = Metric("probe_llm_output_tokens", "gauge", "Output tokens; absent when none came.")
PROMPT_TOKENS = Metric("probe_llm_prompt_tokens", "gauge", "Prompt tokens as the server counted them.")
PHASE = Metric(
    "probe_llm_phase_seconds",
    "gauge",
    "Time in a phase of the request that was reached; absent if tainted.",
    ("phase",),
)

ALL = tuple(value for value in list(globals().values()) if isinstance(value, Metric))


class OneShotCollector(Collector):
    """Yields the metrics of one probe.

    Args:
        result: What it measured.
        timeout: Its deadline, in seconds.
        age: How long ago it ended.
        took: How long it took; None if that is not known.
    """

    def __init__(self, result: ProbeResult, timeout: float, age: float, took: float | None) -> None:
        self._result = result
        self._timeout = timeout
        self._age = age
        self._took = took

    def collect(self) -> list[Family]:
        """Return one family per metric."""
        families, result = Families(), self._result
        # The answer of a tainted probe was good; only its times are not to be trusted.
        tainted = result.outcome == "tainted"
        families.add(SUCCESS, {}, result.outcome == "success" or tainted)
        families.add(TIMEOUT, {}, self._timeout)
        families.add(AGE, {}, self._age)
        info = {"outcome": result.outcome, "model_name": result.model_name, "scenario": result.scenario}
        families.add(OUTCOME_INFO, info, 1)
        figures = {
            DURATION: self._took,
            STATUS: result.status_code,
            OUTPUT_TOKENS: result.output_tokens,
            PROMPT_TOKENS: result.prompt_tokens,
        }
        for metric, value in (figures if tainted else figures | _times(result)).items():
            if value is not None:
                families.add(metric, {}, value)
        for phase, seconds in () if tainted else result.phases.items():
            families.add(PHASE, {"phase": phase}, seconds)
        return families.all()


def _times(result: ProbeResult) -> dict[Metric, float | None]:
    return {
        TTFT: result.ttft_seconds,
        TTFO: result.ttfo_seconds,
        TPOT: result.tpot_seconds,
        E2E: result.e2e_seconds,
    }

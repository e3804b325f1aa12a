"""What panels say in given situations: their queries, run by promtool over made-up series."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboards.queries import panel_queries

pytestmark = pytest.mark.tool("promtool")

Samples = dict[str, float]
QUERIES = {(query.panel, query.ref_id): query.expr for query in panel_queries("10m")}


class Asks:
    """Puts a panel's query to series that stand still, or grow, for 20 minutes."""

    def __init__(self, promtool: Path, folder: Path) -> None:
        self._promtool = promtool
        self._file = folder / "answers.yml"

    def __call__(self, panel: str, ref_id: str, series: dict[str, str], expected: Samples) -> None:
        test: dict[str, Any] = {
            "interval": "15s",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [
                {
                    "expr": QUERIES[panel, ref_id],
                    "eval_time": "20m",
                    "exp_samples": [{"labels": labels, "value": value} for labels, value in expected.items()],
                }
            ],
        }
        self._file.write_text(yaml.safe_dump({"evaluation_interval": "15s", "tests": [test]}))
        done = subprocess.run([self._promtool, "test", "rules", self._file], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def asks(tool: Callable[[str], Path], tmp_path: Path) -> Asks:
    return Asks(tool("promtool"), tmp_path)


def still(value: float) -> str:
    return f"{value}x80"


def growing(step: float) -> str:
    return f"0+{step}x80"


def target(name: str, passed: int | None, ended: float = 1190, engine: int | None = None) -> dict[str, str]:
    """Return the series of a target whose last probe ended at the second `ended`; it is now second 1200."""
    labels = f'target="{name}", scenario="short", model_name="m", instance="probe-1"'
    series = {f'llm_target_info{{target="{name}", engine="auto"}}': still(1)}
    if passed is not None:
        series |= {
            f"llm_probe_last_success{{{labels}}}": still(passed),
            f"llm_probe_last_run_timestamp_seconds{{{labels}}}": still(ended),
            f"llm_probe_interval_seconds{{{labels}}}": still(60),
        }
    if engine is not None:
        series[f'up{{job="llm-engine", target="{name}", instance="10.0.0.7:8000"}}'] = still(engine)
    return series


GOOD = target("good", passed=1, engine=1) | target("endpoint-only", passed=1)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({}, 0),
        (target("failed", passed=0, engine=1), 1),
        (target("late", passed=1, ended=800), 1),
        (target("new", passed=None, engine=1), 1),
        (target("engine-down", passed=1, engine=0), 1),
        (target("all-wrong", passed=0, engine=0) | target("failed", passed=0), 2),
    ],
    ids=["all good", "probe failed", "probe late", "not probed yet", "engine down", "two at once"],
)
def test_what_is_not_known_to_be_good_is_not_up(asks: Asks, others: dict[str, str], expected: float) -> None:
    asks("Targets not up", "A", GOOD | others, {"{}": expected})


def test_without_a_probe_exporter_nothing_is_said_to_be_up(asks: Asks) -> None:
    asks("Targets not up", "A", {}, {})


def test_one_of_two_probers_is_enough_to_show_a_failure(asks: Asks) -> None:
    second = {
        name.replace("probe-1", "probe-2"): still(0) if "last_success" in name else values
        for name, values in target("good", passed=1).items()
    }
    asks("Up or down", "B", target("good", passed=1) | second, {'{target="good"}': 0})


def test_a_late_probe_leaves_a_gap(asks: Asks) -> None:
    asks("Up or down", "B", target("late", passed=1, ended=800), {})


def test_one_replica_down_shows(asks: Asks) -> None:
    second = {'up{job="llm-engine", target="good", instance="10.0.0.8:8000"}': still(0)}
    asks("Up or down", "A", GOOD | second, {'{target="good"}': 0})


def test_the_engine_is_believed_first_and_probes_fill_in(asks: Asks) -> None:
    series = {
        'llm:ttft_seconds:p95_5m{target="both", model_name="m", inference_engine="vllm"}': still(0.5),
        'llm:ttft_seconds:p95_5m{target="both", model_name="slow", inference_engine="vllm"}': still(0.75),
        'llm_probe:ttft_seconds:p95_5m{target="both", model_name="m", scenario="short"}': still(9),
        'llm_probe:ttft_seconds:p95_5m{target="outside", model_name="m", scenario="short"}': still(1),
        'llm_probe:ttft_seconds:p95_5m{target="outside", model_name="m", scenario="long"}': still(2),
    }
    expected = {'{target="both", source="engine"}': 0.75, '{target="outside", source="probe"}': 2.0}
    asks("TTFT", "B", series, expected)
    asks("Slowest TTFT P95", "A", series, {'{target="outside", source="probe"}': 2.0})


def test_what_fires_is_listed_with_how_long_it_is_true(asks: Asks) -> None:
    def alert(name: str, severity: str, since: float, state: str, more: str = "") -> dict[str, str]:
        labels = f'alertname="{name}", severity="{severity}"{more}'
        return {
            f'ALERTS{{alertstate="{state}", {labels}}}': still(1),
            f"ALERTS_FOR_STATE{{{labels}}}": still(since),
        }

    series = (
        alert("Watchdog", "none", 0, "firing")
        | alert("TTFTHigh", "page", 900, "firing", ', target="chat", slo="ttft"')
        | alert("QueueDepthHigh", "ticket", 1100, "pending", ', target="chat"')
        | alert("ExporterDown", "ticket", 600, "firing", ', job="gpu", node="gpu-01"')
    )
    expected = {
        '{severity="page", alertname="TTFTHigh", target="chat"}': 300.0,
        '{severity="ticket", alertname="ExporterDown", node="gpu-01"}': 600.0,
    }
    asks("What is firing", "A", series, expected)


def test_simulated_gpus_say_so_and_real_ones_do_not(asks: Asks) -> None:
    series = {
        'gpu:utilization_ratio{node="demo", gpu="0", uuid="GPU-SIMULATED-0"}': still(0.5),
        'gpu:utilization_ratio{node="gpu-01", gpu="0", uuid="GPU-5a1"}': still(0.25),
    }
    expected = {
        '{node="demo", gpu="0", uuid="GPU-SIMULATED-0", simulated=" (simulated)"}': 0.5,
        '{node="gpu-01", gpu="0", uuid="GPU-5a1"}': 0.25,
    }
    asks("GPU utilisation", "A", series, expected)


def test_tainted_and_rate_limited_probes_do_not_count_against_a_target(asks: Asks) -> None:
    labels = 'target="chat", scenario="short", model_name="m"'
    series = {
        f"llm_probe_slo_good_total{{{labels}}}": growing(1),
        f'llm_probe_requests_total{{{labels}, outcome="success"}}': growing(1),
        f'llm_probe_requests_total{{{labels}, outcome="deadline"}}': growing(1),
        f'llm_probe_requests_total{{{labels}, outcome="rate_limited"}}': growing(5),
        f'llm_probe_requests_total{{{labels}, outcome="tainted"}}': growing(5),
    }
    asks("Lowest share of good probes", "A", series, {'{target="chat"}': 0.5})


def test_a_target_without_probes_has_no_share(asks: Asks) -> None:
    labels = 'target="chat", scenario="short", model_name="m"'
    series = {
        f"llm_probe_slo_good_total{{{labels}}}": still(0),
        f'llm_probe_requests_total{{{labels}, outcome="success"}}': still(0),
    }
    asks("Good probes, last hour", "A", series, {})


def test_the_mean_of_a_phase_is_time_over_count(asks: Asks) -> None:
    labels = 'target="chat", scenario="short", model_name="m", phase="tls"'
    series = {
        f"llm_probe_phase_seconds_sum{{{labels}}}": growing(0.5),
        f"llm_probe_phase_seconds_count{{{labels}}}": growing(2),
    }
    asks("Where a probe's time goes", "A", series, {'{target="chat", phase="tls"}': 0.25})


def test_statuses_and_finish_reasons_are_counted_over_all_probers_and_scenarios(asks: Asks) -> None:
    statuses, reasons = "llm_probe_http_responses_total", "llm_probe_finish_reasons_total"
    series = {
        f'{statuses}{{target="chat", code="200", instance="probe-1"}}': growing(1),
        f'{statuses}{{target="chat", code="200", instance="probe-2"}}': growing(1),
        f'{statuses}{{target="chat", code="429", instance="probe-1"}}': growing(0.5),
        f'{statuses}{{target="chat", code="502", instance="probe-1"}}': still(7),
    }
    asks(
        "HTTP statuses of answers",
        "A",
        series,
        {'{target="chat", code="200"}': 40.0, '{target="chat", code="429"}': 10.0},
    )
    series = {
        f'{reasons}{{target="chat", scenario="short", reason="stop"}}': growing(1),
        f'{reasons}{{target="chat", scenario="long", reason="stop"}}': growing(1),
        f'{reasons}{{target="chat", scenario="long", reason="length"}}': growing(1),
        f'{reasons}{{target="chat", scenario="long", reason="content_filter"}}': still(0),
    }
    asks(
        "How answers end",
        "A",
        series,
        {'{target="chat", reason="stop"}': 40.0, '{target="chat", reason="length"}': 20.0},
    )


def test_who_answers_is_told_once_with_its_changes_by_any_prober(asks: Asks) -> None:
    named = 'target="chat", model_name="m", response_model="m-2", fingerprint="fp", server_version="1.2"'
    changes = 'llm_probe_model_identity_changes_total{target="chat", model_name="m"'
    series = {
        f'llm_probe_response_model_info{{{named}, instance="probe-1"}}': still(1),
        f'llm_probe_response_model_info{{{named}, instance="probe-2"}}': still(1),
        f'{changes}, field="model", instance="probe-1"}}': "0x50 1x30",
        f'{changes}, field="model", instance="probe-2"}}': "0x50 1x30",
        f'{changes}, field="server_version", instance="probe-1"}}': "0x50 1x30",
        f'{changes}, field="server_version", instance="probe-2"}}': "0x80",
        f'{changes}, field="system_fingerprint", instance="probe-1"}}': "0x80",
    }
    asks("Who answers", "A", series, {f"{{{named}}}": 2.0})


def test_the_share_of_tainted_probes_counts_every_outcome(asks: Asks) -> None:
    labels = 'target="chat", scenario="short", model_name="m"'
    series = {
        f'llm_probe_requests_total{{{labels}, outcome="success"}}': growing(2),
        f'llm_probe_requests_total{{{labels}, outcome="deadline"}}': growing(1),
        f'llm_probe_requests_total{{{labels}, outcome="tainted"}}': growing(1),
    }
    asks("Tainted probes", "A", series, {'{target="chat"}': 0.25})


def test_a_target_is_paused_when_every_prober_has_paused_it(asks: Asks) -> None:
    series = {
        'llm_probe_paused{target="chat", reason="budget", instance="probe-1"}': still(1),
        'llm_probe_paused{target="chat", reason="budget", instance="probe-2"}': still(0),
        'llm_probe_paused{target="chat", reason="retry_after", instance="probe-1"}': still(1),
        'llm_probe_paused{target="chat", reason="retry_after", instance="probe-2"}': still(1),
    }
    expected = {'{target="chat", reason="budget"}': 0.0, '{target="chat", reason="retry_after"}': 1.0}
    asks("Paused", "A", series, expected)

"""Complaint of an alert on what cannot be felt: the rules and the alert, evaluated by promtool."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from exporters.gpu import metrics

ROOT = Path(__file__).parents[2]
EVERY_SECONDS = 15
SAMPLES = 120
FALLS_AT = 108


def throttled(gpu: int, seconds_each_second: float, before: float = 0.0) -> dict[str, str]:
    """Return a driver's counter that grows evenly, and that falls by `before` three minutes before the end."""
    step = seconds_each_second * EVERY_SECONDS
    values = [step * sample + (before if sample < FALLS_AT else 0.0) for sample in range(SAMPLES + 1)]
    labels = f'node="n",gpu="{gpu}",uuid="G{gpu}",reason="hw_thermal_slowdown"'
    return {
        "series": f"{metrics.CLOCKS_EVENT_SECONDS}{{{labels}}}",
        "values": " ".join(f"{value:.6f}" for value in values),
    }


@pytest.mark.complaint(11)
@pytest.mark.tool("promtool")
def test_a_microsecond_of_throttling_is_no_alert_and_half_the_time_is(
    tool: Callable[[str], Path], tmp_path: Path
) -> None:
    test = {
        "rule_files": [str(ROOT / "prometheus/rules/gpu.yml"), str(ROOT / "alerting/rules/resources.yml")],
        "evaluation_interval": f"{EVERY_SECONDS}s",
        "tests": [
            {
                "interval": f"{EVERY_SECONDS}s",
                "input_series": [
                    throttled(0, 1e-6),
                    throttled(1, 0.5),
                    # A driver that was loaded anew: its counter falls by an hour, which is no hour of throttling.
                    throttled(2, 1e-6, before=3600.0),
                ],
                "promql_expr_test": [
                    {
                        "expr": 'count by (gpu) (ALERTS{alertname="GPUThrottling", alertstate="firing"})',
                        "eval_time": f"{SAMPLES * EVERY_SECONDS}s",
                        "exp_samples": [{"labels": '{gpu="1"}', "value": 1}],
                    }
                ],
            }
        ],
    }
    file = tmp_path / "complaint.yml"
    file.write_text(yaml.safe_dump(test))
    checked = subprocess.run([tool("promtool"), "test", "rules", file], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr

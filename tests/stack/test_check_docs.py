"""docs/check.md: the job that it shows is one that Prometheus takes."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.mark.tool("promtool")
def test_the_job_for_metrics_behind_a_key_is_valid(tool: Callable[[str], Path], tmp_path: Path) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/check.md").read_text(encoding="utf-8"), re.DOTALL)
    (job,) = yaml.safe_load(block)
    key = tmp_path / "key"
    key.write_text("k")
    job["authorization"]["credentials_file"] = str(key)
    shipped = yaml.safe_load((ROOT / "prometheus/prometheus.yml").read_text(encoding="utf-8"))
    # Appended to the shipped jobs, as the page says; rules are checked elsewhere.
    merged = {"scrape_configs": [*shipped["scrape_configs"], job]}
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(merged))
    command = [tool("promtool"), "check", "config", str(tmp_path / "prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert job["relabel_configs"] == [{"target_label": "job", "replacement": "llm-engine"}]

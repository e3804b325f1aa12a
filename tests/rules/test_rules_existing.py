"""prometheus/ and alerting/ dropped into somebody's own Prometheus, as docs/existing-prometheus.md says."""

import json
import re
import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from rules_prometheus import Pages, running, serving

from prometheus import vocabulary as names

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "existing-prometheus.md").read_text(encoding="utf-8")
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
STATIC = BLOCKS[0]
DCGM = (Path(__file__).parent / "fixtures" / "dcgm-exporter.prom").read_text()


def busy_engine(started: float) -> str:
    """Return a page of an engine that answers 10 requests a second, each with a first token after 0.3 to 0.5 s."""
    count = int(10 * (time.monotonic() - started)) + 100
    buckets = {"0.25": 0, "0.5": count, "+Inf": count}
    name, labels = "vllm:time_to_first_token_seconds", 'model_name="m",engine="0"'
    lines = [f'{name}_bucket{{{labels},le="{le}"}} {value}' for le, value in buckets.items()]
    lines += [f"{name}_sum{{{labels}}} {0.4 * count}", f"{name}_count{{{labels}}} {count}"]
    return "\n".join([*lines, f"vllm:num_requests_waiting{{{labels}}} 4", ""])


PROBE = """\
llm_targets_configured 1
llm_target_slo_seconds{target="chat",slo="ttft",quantile="0.95"} 0.1
llm_target_info{target="chat",url="http://x/v1",api="openai-chat",engine="vllm"} 1
llm_target_gpu_info{target="chat",node="gpu-01",gpu="1"} 1
"""


@pytest.mark.tool("prometheus")
def test_the_folders_work_in_an_existing_installation_with_static_targets(tool, tmp_path: Path, free_port: int) -> None:
    for folder in ("prometheus", "alerting"):
        shutil.copytree(ROOT / folder / "rules", tmp_path / "inferwatch" / folder / "rules")
    started = time.monotonic()
    engines = [Pages({"/metrics": lambda: busy_engine(started)}) for _ in range(2)]
    probe, gpus = Pages({"/metrics": PROBE}), Pages({"/metrics": DCGM})
    there = dict(
        zip(("10.0.0.7:8000", "10.0.0.8:8000", "10.0.0.5:9811", "10.0.0.7:9400"), (*engines, probe, gpus), strict=True)
    )
    with ExitStack() as servers:
        for pages in there.values():
            servers.enter_context(serving(pages))
        text = json.dumps(STATIC)
        for written, pages in there.items():
            text = text.replace(written, pages.address)
        own = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        (line,) = re.findall(r"^    (rule_files: .*)$", PAGE, re.MULTILINE)
        nameless = {"job_name": "elsewhere", "static_configs": [{"targets": [engines[0].address]}]}
        config = json.loads(text) | {"global": own} | yaml.safe_load(line)
        config["scrape_configs"].append(nameless)
        file = tmp_path / "prometheus.yml"
        file.write_text(yaml.safe_dump(config))
        with running(tool("prometheus"), file, free_port) as prometheus:
            quantile = f'{names.quantile("ttft", "p95")}{{target="chat"}}'
            prometheus.until(lambda: prometheus.values(quantile), "a quantile of the engine")
            assert all(0.25 < value <= 0.5 for value in prometheus.values(quantile))
            waiting = f'{names.REQUESTS_WAITING}{{target="chat"}}'
            prometheus.until(lambda: prometheus.values(waiting) == [4, 4], "the queue of both replicas")
            gpu = f'{names.GPU_UTILIZATION}{{node="gpu-01"}}'
            prometheus.until(lambda: prometheus.values(gpu) == [0.87, 0.87], "the GPUs of dcgm-exporter")
            throttled = f'{names.TARGET_GPU_THROTTLED}{{target="chat"}}'
            prometheus.until(lambda: prometheus.values(throttled) == [0], "the GPU of the target")
            # The objective is 0.1 s, so the alert is on its way; for the engine without a target there is none.
            pending = 'ALERTS{alertname="TTFTHigh"}'
            prometheus.until(lambda: prometheus.query(pending), "the alert about the objective")
            assert {one["metric"]["target"] for one in prometheus.query(pending)} == {"chat"}
            rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
            assert {rule["health"] for rule in rules} <= {"ok", "unknown"}
            assert len({rule["name"] for rule in rules if rule["type"] == "alerting"}) >= 16


@pytest.mark.tool("promtool")
@pytest.mark.parametrize("block", BLOCKS, ids=["static", "dns", "kubernetes"])
def test_the_jobs_of_the_page_are_valid(run, tmp_path: Path, block) -> None:
    (job, *_) = block["scrape_configs"]
    # Debian's Prometheus is built without Kubernetes' discovery; the rest of the job is checked.
    job.pop("kubernetes_sd_configs", None)
    file = tmp_path / "prometheus.yml"
    file.write_text(yaml.safe_dump(block))
    assert "SUCCESS" in run("promtool", "check", "config", file)


@pytest.mark.tool("promtool")
def test_the_job_for_a_second_key_is_valid_below_the_shipped_ones(run, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "discovery.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    shipped = (ROOT / "prometheus" / "prometheus.yml").read_text(encoding="utf-8")
    merged = yaml.safe_load(shipped + "\n" + block)
    *_, job = merged["scrape_configs"]
    assert job["job_name"] == "llm-engine-team-b"
    assert job["metric_relabel_configs"] == merged["scrape_configs"][0]["metric_relabel_configs"]
    file = tmp_path / "prometheus.yml"
    file.write_text(shipped.replace("rules/*.yml", "none/*.yml") + "\n" + block)
    assert "SUCCESS" in run("promtool", "check", "config", "--syntax-only", file)


def test_rules_become_objects_of_the_operator_as_the_page_says(tmp_path: Path) -> None:
    (script,) = re.findall(r"^    (for file in .*?)^    done \|", PAGE, re.DOTALL | re.MULTILINE)
    done = subprocess.run(["bash", "-c", script + "done"], cwd=ROOT, capture_output=True, text=True, check=True)
    objects = [one for one in yaml.safe_load_all(done.stdout) if one]
    files = [*(ROOT / "prometheus" / "rules").glob("*.yml"), *(ROOT / "alerting" / "rules").glob("*.yml")]
    assert len({one["metadata"]["name"] for one in objects}) == len(objects) == len(files)
    assert all(one["kind"] == "PrometheusRule" and one["spec"]["groups"] for one in objects)

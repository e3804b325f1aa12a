"""prometheus/prometheus.yml on a real Prometheus: keys, authorities, and what a scrape renames and drops."""

import json
import re
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from rules_prometheus import Pages, Prometheus, running, serving

from exporters.probe.targets import discovery
from exporters.probe.targets.engine_kinds import EngineKinds
from inferwatch.config import parse_config
from inferwatch.engines import load_engines
from stack import runconfig
from stack.services import CONTAINER_ADDRESSES, NEVER_HERE

pytestmark = pytest.mark.tool("prometheus", "openssl")

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = yaml.safe_load((ROOT / "prometheus" / "prometheus.yml").read_text(encoding="utf-8"))
KEY = "sk-metrics"
NIM = """\
num_requests_running{model_name="m"} 3
gpu_cache_usage_perc{model_name="m"} 0.5
time_to_first_token_seconds_bucket{model_name="m",le="0.5"} 4
time_to_first_token_seconds_sum{model_name="m"} 1.5
process_cpu_seconds_total 9
"""
ROUTER = """\
vllm:num_requests_running{server="http://10.0.0.7:8000"} 5
vllm:current_qps{server="http://10.0.0.7:8000"} 2
vllm:num_requests_running{model_name="m",engine="0"} 7
"""
# Two users with a key each, from two machines, of one model.
LITELLM = """\
litellm_proxy_total_requests_metric_total{client_ip="10.0.0.1",hashed_api_key="aa",end_user="ann",status_code="200"} 30
litellm_proxy_total_requests_metric_total{client_ip="10.0.0.2",hashed_api_key="bb",end_user="bob",status_code="200"} 12
litellm_spend_metric_total{client_ip="10.0.0.1",hashed_api_key="aa",end_user="ann",model="m"} 0.5
litellm_remaining_api_key_requests_for_model{hashed_api_key="aa",model="m"} 7
litellm_deployment_total_requests_total{client_ip="10.0.0.1",hashed_api_key="aa",litellm_model_name="m"} 30
litellm_in_flight_requests 2
"""
REST = """\
llamacpp:requests_processing 1
anything_created 1796050000
python_gc_collections_total{generation="0"} 5
tgi_batch_next_size_bucket{le="17"} 1
tgi_queue_size 4
"""


@dataclass
class Scene:
    prometheus: Prometheus
    pages: Pages
    key_file: Path


def targets(pages: Pages, tls: Pages) -> str:
    base = f"http://{pages.address}"
    each = {"nim": "/nim/metrics", "router": "/router/metrics", "litellm": "/litellm/metrics", "rest": "/rest/metrics"}
    listed = [
        {"name": name, "url": f"{base}/v1", "engine": "vllm", "metrics": [base + path]} for name, path in each.items()
    ]
    own = {"engine": "llamacpp", "model": "smol", "metrics_auth": "bearer", "metrics": [f"{base}/guarded/metrics"]}
    listed.append({"name": "guarded", "url": f"{base}/v1"} | own)
    secure = f"https://{tls.address}"
    listed.append({"name": "private", "url": f"{secure}/v1", "engine": "vllm", "metrics": [f"{secure}/metrics"]})
    return json.dumps({"targets": listed})


def certificate(openssl: Path, folder: Path) -> tuple[Path, Path]:
    """Make a certificate for 127.0.0.1 that is its own authority, in a folder of its own."""
    folder.mkdir()
    made, key = folder / "ca.pem", folder.parent / "key.pem"
    new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=private", "-addext", "subjectAltName=IP:127.0.0.1"]
    done = subprocess.run([openssl, *new, *names, "-keyout", key, "-out", made], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return made, key


@pytest.fixture(scope="module")
def scene(tool, tmp_path_factory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("scraping")
    made, key = certificate(tool("openssl"), folder / "ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    pages = Pages({"/nim/metrics": NIM, "/router/metrics": ROUTER, "/litellm/metrics": LITELLM, "/rest/metrics": REST})
    pages.pages["/guarded/metrics"] = "llamacpp:requests_processing 1\n"
    pages.guarded["/guarded/metrics"] = KEY
    with serving(pages), serving(Pages({"/metrics": 'vllm:num_requests_running{model_name="m"} 1\n'}), context) as tls:
        config = parse_config(targets(pages, tls), "inferwatch.yml", {})
        for auth in (None, "bearer"):
            listed = discovery.engines(config, EngineKinds(), lambda target: target.model or "", auth)
            pages.pages["/sd/engines" + (f"?auth={auth}" if auth else "")] = json.dumps(listed)
        pages.pages["/sd/gpus"] = "[]"
        addresses = dict.fromkeys(CONTAINER_ADDRESSES.values(), "127.0.0.1:1") | {"probe-exporter:9811": pages.address}
        file = folder / "prometheus.yml"
        runconfig.write_prometheus(file, addresses, NEVER_HERE, folder)
        written = yaml.safe_load(file.read_text())
        written["global"] |= {"scrape_interval": "1s", "scrape_timeout": "1s"}
        del written["rule_files"], written["alerting"]
        file.write_text(yaml.safe_dump(written))
        environ = {"SSL_CERT_DIR": f"/etc/ssl/certs:{folder / 'ca'}"}
        port = int(_free_address().rpartition(":")[2])
        with running(tool("prometheus"), file, port, environ) as prometheus:
            ups = 'up{job="llm-engine"}'
            prometheus.until(lambda: len(prometheus.query(f"{ups} == 1")) == 5, "the engines without a key")
            yield Scene(prometheus, pages, folder / "secrets" / "engine-metrics-key")


def _free_address() -> str:
    with serving(Pages()) as free:
        return free.address


def test_a_key_that_is_missing_stops_its_engines_alone_and_is_read_when_it_comes(scene: Scene) -> None:
    prometheus = scene.prometheus
    up = 'up{job="llm-engine",target="guarded"}'
    prometheus.until(lambda: prometheus.values(up) == [0], "the scrape without a key")
    (guarded,) = [one for one in prometheus.targets() if one["labels"].get("target") == "guarded"]
    assert str(scene.key_file) in guarded["lastError"]
    assert guarded["scrapePool"] == "llm-engine-bearer"
    assert not [path for path, _ in scene.pages.asked if path == "/guarded/metrics"], "it was asked without its key"
    scene.key_file.parent.mkdir()
    scene.key_file.write_text(KEY)
    prometheus.until(lambda: prometheus.values(up) == [1], "the scrape with the key")
    (sample,) = prometheus.query("llamacpp:requests_processing{target='guarded'}")
    assert (sample["metric"]["job"], sample["metric"]["model_name"]) == ("llm-engine", "smol")
    assert {given for path, given in scene.pages.asked if path != "/guarded/metrics"} == {None}, (
        "the key went elsewhere"
    )


def test_an_authority_in_the_folder_is_trusted(scene: Scene) -> None:
    assert scene.prometheus.values('vllm:num_requests_running{target="private"}') == [1]


def test_nims_metrics_get_its_prefix(scene: Scene) -> None:
    found = {one["metric"]["__name__"] for one in scene.prometheus.query('{target="nim",__name__!~"up|scrape_.+"}')}
    assert found == {
        "nim_num_requests_running", "nim_gpu_cache_usage_perc", "nim_time_to_first_token_seconds_bucket",
        "nim_time_to_first_token_seconds_sum", "process_cpu_seconds_total",
    }  # fmt: skip


def test_a_routers_copy_of_vllms_gauges_is_not_taken_for_vllm(scene: Scene) -> None:
    assert scene.prometheus.values('vllm:num_requests_running{target="router"}') == [7]
    assert scene.prometheus.values('vllm_router:num_requests_running{target="router"}') == [5]
    assert scene.prometheus.values('vllm_router:current_qps{target="router"}') == [2]


def test_series_of_each_user_are_dropped_unless_a_rule_counts_them(scene: Scene) -> None:
    found = {one["metric"]["__name__"] for one in scene.prometheus.query('{target="litellm",__name__=~"litellm_.+"}')}
    assert found == {"litellm_proxy_total_requests_metric_total", "litellm_in_flight_requests"}
    assert scene.prometheus.values("sum(litellm_proxy_total_requests_metric_total)") == [42]


def test_what_is_no_use_is_dropped(scene: Scene) -> None:
    found = {one["metric"]["__name__"] for one in scene.prometheus.query('{target="rest",__name__!~"up|scrape_.+"}')}
    assert found == {"llamacpp:requests_processing", "tgi_queue_size"}


def test_dropping_a_label_that_tells_series_apart_would_lose_what_one_of_them_counts(tool, tmp_path, free_port) -> None:
    """Why LiteLLM's labels stay (docs/discovery.md)."""
    labels = {"regex": "client_ip|hashed_api_key|end_user", "action": "labeldrop"}
    with serving(Pages({"/metrics": LITELLM})) as pages:
        job = {"job_name": "a", "static_configs": [{"targets": [pages.address]}], "metric_relabel_configs": [labels]}
        file = tmp_path / "prometheus.yml"
        file.write_text(json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": [job]}))
        with running(tool("prometheus"), file, free_port) as prometheus:
            prometheus.until(lambda: prometheus.values("litellm_in_flight_requests"), "a scrape")
            (counted,) = prometheus.values("sum(litellm_proxy_total_requests_metric_total)")
    assert counted < 42


def test_every_engines_relabelling_is_in_both_jobs() -> None:
    jobs = {
        job["job_name"]: job["metric_relabel_configs"] for job in SHIPPED["scrape_configs"] if "llm" in job["job_name"]
    }
    assert set(jobs) == {"llm-engine", "llm-engine-bearer"}
    for rules in jobs.values():
        for engine in load_engines().values():
            for rule in engine.relabel:
                assert rule in rules, engine.name


def test_what_rules_read_of_litellm_is_not_dropped() -> None:
    (drop,) = [
        rule["regex"]
        for rule in SHIPPED["scrape_configs"][0]["metric_relabel_configs"]
        if rule["regex"].startswith("litellm_")
    ]
    litellm = load_engines()["litellm"]
    read = [
        name
        for kind in (litellm.histograms, litellm.gauges, litellm.counters)
        for names in kind.values()
        for name in names
    ]
    assert read
    for name in read:
        assert not re.fullmatch(drop, name.partition("{")[0]), name
        assert not re.fullmatch(drop, f"{name.partition('{')[0]}_bucket"), name

"""Container configuration -> loopback configuration."""

from pathlib import Path

import pytest
import yaml

from inferwatch.errors import InferwatchError
from stack import runconfig

ADDRESSES = {"probe-exporter:9811": "127.0.0.1:5001", "alertmanager:9093": "127.0.0.1:5002"}
SOURCE = """
rule_files: [rules/*.yml, ../alerting/rules/*.yml]
alerting:
  alertmanagers:
  - static_configs: [{targets: ["alertmanager:9093"]}]
scrape_configs:
- job_name: probe
  static_configs: [{targets: ["probe-exporter:9811"]}]
- job_name: llm-engine-bearer
  authorization: {credentials_file: /config/secrets/engine-metrics-key}
  http_sd_configs: [{url: "http://probe-exporter:9811/sd/engines?auth=bearer"}]
- job_name: gpu
  static_configs: [{targets: ["gpu-exporter:9810"], labels: {node: local}}]
  http_sd_configs: [{url: "http://probe-exporter:9811/sd/gpus", refresh_interval: 15s}]
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "prometheus" / "prometheus.yml"
    file.parent.mkdir()
    file.write_text(SOURCE)
    return file


def test_addresses_and_rule_paths_are_rewritten(source: Path, tmp_path: Path) -> None:
    into = tmp_path / "out.yml"
    runconfig.write_prometheus(into, ADDRESSES, frozenset({"gpu-exporter:9810"}), tmp_path / "mine", source)
    data = yaml.safe_load(into.read_text())
    assert data["rule_files"] == [str(source.parent / "rules/*.yml"), str(tmp_path / "alerting/rules/*.yml")]
    assert data["alerting"]["alertmanagers"][0]["static_configs"] == [{"targets": ["127.0.0.1:5002"]}]
    probe, bearer, gpu = data["scrape_configs"]
    assert probe["static_configs"] == [{"targets": ["127.0.0.1:5001"]}]
    assert bearer["authorization"] == {"credentials_file": str(tmp_path / "mine/secrets/engine-metrics-key")}
    assert bearer["http_sd_configs"] == [{"url": "http://127.0.0.1:5001/sd/engines?auth=bearer"}]
    assert gpu["static_configs"] == []
    assert gpu["http_sd_configs"] == [{"url": "http://127.0.0.1:5001/sd/gpus", "refresh_interval": "15s"}]
    assert str(source) in into.read_text().splitlines()[0]


def test_an_address_that_is_not_known_here_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InferwatchError, match="job gpu scrapes gpu-exporter:9810, which has no address here"):
        runconfig.write_prometheus(tmp_path / "out.yml", ADDRESSES, frozenset(), tmp_path, source)


def test_alertmanagers_webhook_and_templates_are_rewritten(tmp_path: Path) -> None:
    source = tmp_path / "alertmanager.yml"
    source.write_text(
        "templates: [templates/*.tmpl]\n"
        "receivers: [{name: page, webhook_configs: [{url: 'http://start-page:9812/notifications'}]}]\n"
    )
    into = tmp_path / "out.yml"
    runconfig.write_alertmanager(into, {"start-page:9812": "127.0.0.1:7"}, source)
    data = yaml.safe_load(into.read_text())
    assert data["receivers"][0]["webhook_configs"][0]["url"] == "http://127.0.0.1:7/notifications"
    assert data["templates"] == [str(tmp_path / "templates/*.tmpl")]


@pytest.mark.parametrize("text", ["", "just text", "a: [", None])
def test_a_broken_source_is_named(tmp_path: Path, text: str | None) -> None:
    source = tmp_path / "prometheus.yml"
    if text is not None:
        source.write_text(text)
    with pytest.raises(InferwatchError, match=r"prometheus\.yml: "):
        runconfig.write_prometheus(tmp_path / "out.yml", {}, frozenset(), tmp_path, source)

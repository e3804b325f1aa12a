"""What Grafana is provisioned with fits what the rest of the stack says."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboards.queries import GENERATED, SCRAPE_INTERVAL

ROOT = GENERATED.parent.parent
PROVISIONING = ROOT / "dashboards" / "provisioning"
MOUNTED = Path("/etc/inferwatch/dashboards/generated")


def read(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def sources() -> dict[str, dict[str, Any]]:
    return {source["uid"]: source for source in read(PROVISIONING / "datasources" / "inferwatch.yml")["datasources"]}


def test_the_data_source_asks_as_often_as_prometheus_scrapes(sources: dict[str, dict[str, Any]]) -> None:
    interval = read(ROOT / "prometheus" / "prometheus.yml")["global"]["scrape_interval"]
    assert sources["prometheus"]["jsonData"]["timeInterval"] == interval == SCRAPE_INTERVAL


def test_the_data_sources_are_fixed(sources: dict[str, dict[str, Any]]) -> None:
    assert list(sources) == ["prometheus", "alertmanager"]
    assert all(source["editable"] is False and source["access"] == "proxy" for source in sources.values())
    assert [uid for uid, source in sources.items() if source.get("isDefault")] == ["prometheus"]
    assert sources["alertmanager"]["jsonData"]["implementation"] == "prometheus"


def test_the_addresses_are_those_of_prometheus_configuration(sources: dict[str, dict[str, Any]]) -> None:
    config = read(ROOT / "prometheus" / "prometheus.yml")
    told = config["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]
    assert sources["alertmanager"]["url"].removeprefix("http://") in told
    assert sources["prometheus"]["url"] == "http://prometheus:9090"


def test_dashboards_are_read_only_and_kept() -> None:
    (provider,) = read(PROVISIONING / "dashboards" / "inferwatch.yml")["providers"]
    assert provider["allowUiUpdates"] is False
    assert provider["disableDeletion"] is True
    assert provider["options"]["path"] == str(MOUNTED)


def test_the_compose_file_mounts_what_provisioning_names() -> None:
    grafana = read(ROOT / "docker-compose.yml")["services"]["grafana"]
    mounts = dict(volume.split(":")[:2] for volume in grafana["volumes"] if isinstance(volume, str))
    by_target = {Path(target): ROOT / source for source, target in mounts.items() if source.startswith(".")}
    assert host_path(by_target, Path("/etc/grafana/provisioning/datasources/inferwatch.yml")).is_file()
    assert host_path(by_target, Path("/etc/grafana/provisioning/dashboards/inferwatch.yml")).is_file()
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert home.parent == MOUNTED
    assert host_path(by_target, home).is_file()


def host_path(mounts: dict[Path, Path], inside: Path) -> Path:
    """Return the file of this checkout that a container sees at `inside`."""
    for target, source in mounts.items():
        if inside.is_relative_to(target):
            return source / inside.relative_to(target)
    raise AssertionError(f"nothing is mounted at {inside}")

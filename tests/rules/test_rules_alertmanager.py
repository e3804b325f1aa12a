import re
from pathlib import Path

import pytest
import yaml

from alerting.catalogue import catalogue

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "alerting" / "alertmanager.yml"
ALERTS = {alert.name: alert for alerts in catalogue().values() for alert in alerts}


@pytest.fixture
def receiver(run):
    def find(**labels: str) -> str:
        pairs = [f"{name}={value}" for name, value in labels.items()]
        return run("amtool", "config", "routes", "test", f"--config.file={CONFIG}", *pairs).splitlines()[0]

    return find


@pytest.mark.tool("amtool")
def test_the_configuration_is_valid(run):
    assert "SUCCESS" in run("amtool", "check-config", CONFIG)


@pytest.mark.tool("amtool")
def test_the_examples_in_comments_are_valid_when_somebody_uses_them(run, tmp_path):
    used = re.sub(r"(?m)^    # ( *(?:- )?\w+:.*)$", r"    \1", CONFIG.read_text())
    receivers = {item["name"]: item for item in yaml.safe_load(used)["receivers"]}
    assert "pagerduty_configs" in receivers["page"]
    assert "slack_configs" in receivers["ticket"]
    assert "webhook_configs" in receivers["watchdog"]
    file = tmp_path / "alertmanager.yml"
    file.write_text(used)
    assert "SUCCESS" in run("amtool", "check-config", file)


@pytest.mark.tool("amtool")
@pytest.mark.parametrize("name", sorted(ALERTS))
def test_each_alert_reaches_the_receiver_of_its_severity(receiver, name: str):
    alert = ALERTS[name]
    expected = {"page": "page", "ticket": "ticket", "info": "nobody", "none": "watchdog"}[alert.severity]
    assert receiver(alertname=name, severity=alert.severity, family=alert.family) == expected


@pytest.mark.tool("amtool")
def test_an_alert_without_a_severity_is_not_lost(receiver):
    assert receiver(alertname="SomebodysOwn") == "ticket"
    assert receiver(alertname="SomebodysOwn", severity="info") == "nobody"


def test_pages_and_tickets_reach_the_start_page_by_default():
    receivers = {item["name"]: item for item in yaml.safe_load(CONFIG.read_text())["receivers"]}
    for name in ("page", "ticket"):
        assert [hook["url"] for hook in receivers[name]["webhook_configs"]] == ["http://start-page:9812/notifications"]


def test_inhibition_names_alerts_and_families_that_exist():
    families = {alert.family for alert in ALERTS.values()}
    for rule in yaml.safe_load(CONFIG.read_text())["inhibit_rules"]:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            name, values = re.fullmatch(r'(\w+)=~?"(.+)"', matcher).groups()
            known = {"alertname": set(ALERTS), "family": families, "severity": {"page", "ticket", "info"}}[name]
            assert set(values.split("|")) <= known, matcher


def test_no_alert_can_hold_back_itself_or_the_watchdog():
    for rule in yaml.safe_load(CONFIG.read_text())["inhibit_rules"]:
        assert "target" in rule["equal"] or {"node", "gpu"} <= set(rule["equal"])
        assert not any("Watchdog" in matcher for matcher in rule["target_matchers"])
        assert rule["source_matchers"] != rule["target_matchers"]

"""What every rule has to keep to, checked on the generated files as Prometheus reads them."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import alerting.generate
import prometheus.generate
from alerting.catalogue import catalogue
from alerting.monitoring import FOREIGN_METRICS
from exporters.gpu import metrics as gpu
from exporters.probe import metrics as probe
from inferwatch.engines import load_engines
from prometheus.concepts import CONCEPTS, recorded
from prometheus.recording import intervals

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = Path(__file__).parent / "fixtures"
RUNBOOKS = ROOT / "alerting" / "runbooks"
RENDERED = prometheus.generate.rendered() | alerting.generate.rendered()
SECTIONS = ["Meaning", "Impact", "Diagnosis", "Mitigation", "When it is wrong"]
LONGEST_PAGE_WAIT = 90

Rule = dict[str, Any]


def rules() -> list[Rule]:
    groups = [group for file in RENDERED for group in yaml.safe_load(file.read_text())["groups"]]
    names = [group["name"] for group in groups]
    assert len(names) == len(set(names))
    return [
        rule | {"group": group["name"], "interval": group.get("interval")}
        for group in groups
        for rule in group["rules"]
    ]


RULES = rules()
ALERTS = [rule for rule in RULES if "alert" in rule]
RECORDS = [rule for rule in RULES if "record" in rule]
OWN = {name for metric in (*gpu.ALL, *probe.ALL) for name in metric.series_names}
RECORDED = {rule["record"] for rule in RECORDS}


def captured() -> set[str]:
    """Return the names in the captures, and what the scrape makes of those that it renames."""
    found = {
        re.split(r"[{ ]", line, maxsplit=1)[0]
        for file in FIXTURES.glob("*.prom")
        for line in file.read_text().splitlines()
        if line and not line.startswith("#")
    }
    for engine in load_engines().values():
        for config in engine.relabel:
            if config.get("target_label") == "__name__":
                regex, replacement = str(config["regex"]), str(config["replacement"]).replace("$1", r"\1")
                label = ".;" if "server" in config["source_labels"] else ""
                found |= {
                    re.sub(regex, replacement, label + name) for name in found if re.fullmatch(regex, label + name)
                }
    return found


_TEXT = re.compile(r'"[^"]*"')
_GROUPING = re.compile(r"\b(?:by|on|ignoring|without|group_left|group_right)\s*\([^)]*\)")
_MATCHERS = re.compile(r"\{[^}]*\}")
_RANGE = re.compile(r"\[[^\]]*\]")
_WORD = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*(?!\w*\s*\()")
_OPERATORS = {"and", "or", "unless", "bool", "offset", "by", "on", "group_left"}


def series_of(expr: str) -> set[str]:
    """Return the names of series in PromQL: its words that are no function, operator, label or unit."""
    for noise in (_TEXT, _MATCHERS, _RANGE, _GROUPING):
        expr = noise.sub(" ", expr)
    expr = re.sub(r"offset\s+\w+", " ", expr)
    calls = set(re.findall(r"([a-z_]+)\s*\(", expr))
    return {word for word in _WORD.findall(expr) if word not in _OPERATORS | calls and not re.fullmatch(r"e\d*", word)}


CAPTURED = captured()


def seconds(duration: str) -> int:
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600}[duration[-1]]


def test_names_are_read_out_of_promql():
    expr = 'sum by (le) (rate(a_bucket{x="b"}[5m] offset 1h)) / on (z) group_left () (llm:c > bool 1e3) or time() - d'
    assert series_of(expr) == {"a_bucket", "llm:c", "d"}


@pytest.mark.parametrize("file", sorted(RENDERED), ids=lambda file: f"{file.parts[-3]}/{file.name}")
def test_the_committed_file_is_what_the_code_generates(file: Path):
    assert file.read_text() == RENDERED[file], "run `make generate`"


def test_no_other_rule_files_lie_about():
    there = {*(ROOT / "prometheus" / "rules").glob("*"), *(ROOT / "alerting" / "rules").glob("*")}
    assert there == set(RENDERED)


def test_every_series_that_a_rule_reads_is_recorded_exported_by_us_or_captured():
    known = OWN | RECORDED | CAPTURED | set(FOREIGN_METRICS)
    unknown = {rule.get("record") or rule["alert"]: series_of(rule["expr"]) - known for rule in RULES}
    assert {name: series for name, series in unknown.items() if series} == {}


def test_everything_recorded_is_named_in_the_vocabulary_or_is_a_concept():
    concepts = {name for concept in CONCEPTS for kind in ("engine", "gateway") for name in recorded(concept, kind)}
    text = (ROOT / "prometheus" / "vocabulary.py").read_text()
    built = re.compile(
        r"(llm|llm_gateway|llm_probe):\w+_seconds(_bucket:rate5m|:(p50|p95|p99|mean|count)_5m|:(p50|count)_30m"
        r"|:(beyond_buckets|first_bucket)_ratio_5m)|.+:baseline_1d"
    )
    for name in RECORDED:
        assert name in concepts or f'"{name}"' in text or built.fullmatch(name), name


def test_the_scrape_prepares_the_metrics_as_the_engine_files_ask():
    jobs = yaml.safe_load((ROOT / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    engines = [job["metric_relabel_configs"] for job in jobs if job["job_name"].startswith("llm-engine")]
    assert engines
    for configs in engines:
        for engine in load_engines().values():
            assert [one for one in engine.relabel if one not in configs] == [], engine.name


def test_no_rule_names_a_bucket_bound():
    assert not [rule for rule in RULES if re.search(r"\ble\s*=", rule["expr"])]


def test_configuration_is_always_read_so_that_a_restart_and_a_second_prober_do_no_harm():
    configured = [metric for metric in probe.ALL if metric.name.startswith("llm_target_") and metric.kind == "gauge"]
    assert len(configured) >= 6
    for rule in RULES:
        for metric in configured:
            for match in re.finditer(rf"\b{metric.name}\b", rule["expr"]):
                before = rule["expr"][: match.start()]
                assert re.search(r"max by \([^)]*\) \(\s*last_over_time\($", before), (rule["group"], metric.name)
                assert re.match(r"(\{[^}]*\})?\[15m\]", rule["expr"][match.end() :])


def test_a_page_waits_at_most_ninety_seconds_and_reads_at_most_one_group_of_recordings():
    group_of = {rule["record"]: rule["group"] for rule in RECORDS}
    reads = {
        rule["record"]: {group_of[name] for name in series_of(rule["expr"]) if name in group_of} for rule in RECORDS
    }
    pages = [rule for rule in ALERTS if rule["labels"]["severity"] == "page"]
    assert len(pages) >= 5
    for page in pages:
        assert 30 <= seconds(page["for"]) <= LONGEST_PAGE_WAIT, page["alert"]
        for name in series_of(page["expr"]) & RECORDED:
            assert reads[name] <= {group_of[name]}, f"{page['alert']} reads {name}, which is two groups deep"


def test_no_page_reads_what_is_evaluated_less_often():
    slow = {rule["record"] for rule in RECORDS if rule["interval"]}
    for rule in [alert for alert in ALERTS if alert["labels"]["severity"] == "page"]:
        assert not rule["interval"], rule["alert"]
        assert not series_of(rule["expr"]) & slow, rule["alert"]


def test_what_is_recorded_less_often_is_read_before_it_is_stale():
    assert {rule["interval"] for rule in RECORDS if rule["interval"]} <= {"30s", "1m", "2m"}


def test_a_series_is_recorded_equally_often_by_whatever_records_it_and_as_documented():
    own = yaml.safe_load((ROOT / "prometheus" / "prometheus.yml").read_text())["global"]["evaluation_interval"]
    every = {rule["record"]: rule["interval"] or own for rule in RECORDS}
    assert {rule["record"]: rule["interval"] or own for rule in reversed(RECORDS)} == every
    assert intervals() == every


def test_every_alert_waits_at_least_two_scrapes_except_the_watchdog():
    for alert in ALERTS:
        if alert["alert"] != "Watchdog":
            assert seconds(alert["for"]) >= 30, alert["alert"]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_every_alert_says_what_it_means_and_where_to_go_on(alert: Rule):
    assert alert["labels"]["severity"] in ("page", "ticket", "info", "none")
    notes = alert["annotations"]
    assert set(notes) == {"summary", "description", "runbook_url", "dashboard_url"}
    assert notes["runbook_url"].endswith(f"/blob/main/alerting/runbooks/{alert['alert']}.md")
    assert notes["dashboard_url"].startswith("/d/")
    assert notes["description"].endswith(".")
    assert not notes["summary"].endswith(".")
    for used in re.findall(r"\$labels\.(\w+)", " ".join(notes.values())):
        assert used in LABELS[alert["alert"]], f"{used} is no label of {alert['alert']}"


# The labels that each alert may carry, which its texts may name.
LABELS = {
    "TargetDown": {"target"},
    "EngineTargetsGone": {"target"},
    "ProbeFailing": {"target", "scenario"},
    "ProbeStale": {"target", "scenario"},
    "ProbePaused": {"target", "reason"},
    "TTFTHigh": {"target", "scenario", "model_name", "inference_engine"},
    "TPOTHigh": {"target", "scenario", "model_name", "inference_engine"},
    "LatencyRegression": {"target", "scenario", "model_name", "inference_engine"},
    "QueueDepthHigh": {"target", "model_name", "inference_engine"},
    "GPUThrottling": {"node", "gpu", "uuid"},
    "ThrottlingRegression": {"node", "gpu", "uuid"},
    "GPULost": {"node", "gpu", "uuid"},
    "GPUXid": {"node", "gpu", "uuid", "xid"},
    "CostPerMillionTokensHigh": {"target", "currency"},
    "ExporterDown": {"job", "instance", "node"},
    "PrometheusRuleFailures": {"rule_group"},
    "PrometheusNotStoring": {"job", "instance"},
    "ConfigReloadFailed": {"job", "instance"},
    "Watchdog": set(),
}


def test_the_alerts_are_those_that_were_asked_for():
    assert {alert["alert"] for alert in ALERTS} == set(LABELS)
    assert {alert.name for alerts in catalogue().values() for alert in alerts} == set(LABELS)


def test_every_alert_has_a_runbook_and_every_runbook_an_alert():
    assert {file.stem for file in RUNBOOKS.glob("*")} == set(LABELS)


@pytest.mark.parametrize("name", sorted(LABELS))
def test_a_runbook_has_its_five_sections_and_its_links_lead_somewhere(name: str):
    text = (RUNBOOKS / f"{name}.md").read_text()
    assert text.startswith(f"# {name}\n")
    assert re.findall(r"(?m)^## (.+)$", text) == SECTIONS
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (RUNBOOKS / link.partition("#")[0]).is_file(), link


def test_the_documentation_lists_every_alert_with_its_severity():
    rows = re.findall(
        r"(?m)^\| \[(\w+)\]\(\.\./alerting/runbooks/(\w+)\.md\) \| (\w+) \|", (ROOT / "docs" / "alerts.md").read_text()
    )
    severities = {alert["alert"]: alert["labels"]["severity"] for alert in ALERTS}
    assert {name: severity for name, _, severity in rows} == severities
    assert all(name == file for name, file, _ in rows)

"""Every series that a rule, an alert or a panel names is there, with the labels and values by which it is chosen."""

import re
from typing import NamedTuple

import pytest
from rules_replay import FIXTURES, Labels, capture, renamed
from test_rules_hygiene import CAPTURED, OWN, RECORDED, RULES

from alerting.monitoring import FOREIGN_METRICS
from dashboards.queries import panel_queries
from dashboards.series import selectors
from exporters.gpu import metrics as gpu
from exporters.probe import metrics as probe
from inferwatch.engines import load_engines

_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\{([^}]*)\}")
_MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"')
# Selected by rules and in no capture -> why.
NOT_CAPTURED = {
    'dynamo_frontend_requests_total{model!="unknown_model", status="error"}': "only a request for no model failed",
    'litellm_proxy_total_requests_metric_total{status_code="429"}': "no request was refused",
}
PROMETHEUS_OWN = {"ALERTS", "ALERTS_FOR_STATE"}
# What Prometheus and the shipped jobs add to every series.
ADDED = {"job", "instance", "node", "le", "__name__"}


class Chosen(NamedTuple):
    """A selector with matchers, as it stands in a rule."""

    name: str
    matchers: str

    def takes(self, labels: Labels) -> bool:
        """Return whether a series with these labels is selected."""
        for label, operator, wanted in _MATCHER.findall(self.matchers):
            has = labels.get(label, "")
            equal = re.fullmatch(wanted, has) is not None if "~" in operator else has == wanted
            if equal == operator.startswith("!"):
                return False
        return True


CHOSEN = sorted({Chosen(*found) for rule in RULES for found in _SELECTOR.findall(rule["expr"])})
PANELS = [(f"{query.panel} {query.ref_id}", query.expr) for query in panel_queries()]


def series() -> dict[str, list[Labels]]:
    """Return the captured series by the name that they have after the scrape."""
    configs = [config for engine in load_engines().values() for config in engine.relabel]
    found: dict[str, list[Labels]] = {}
    for file in FIXTURES.glob("*.prom"):
        for sample in capture(file.name):
            found.setdefault(renamed(sample.name, sample.labels, configs), []).append(sample.labels)
    return found


@pytest.fixture(scope="module")
def captured() -> dict[str, list[Labels]]:
    return series()


def test_a_selector_takes_what_prometheus_would_take() -> None:
    chosen = Chosen("a", 'x=~"1|2", y!="b", z=""')
    assert chosen.takes({"x": "2"})
    assert not chosen.takes({"x": "12"})
    assert not chosen.takes({"x": "1", "y": "b"})
    assert not chosen.takes({"x": "1", "z": "c"})
    assert not Chosen("a", 'x!~"1.*"').takes({"x": "12"})


def test_every_selector_of_a_rule_takes_a_captured_series(captured: dict[str, list[Labels]]) -> None:
    missed = {
        f"{one.name}{{{one.matchers}}}"
        for one in CHOSEN
        if one.name in captured and not any(one.takes(labels) for labels in captured[one.name])
    }
    assert missed == set(NOT_CAPTURED)


def test_rules_and_panels_choose_our_exporters_series_by_labels_that_they_have() -> None:
    labels_of = {name: {*metric.labels, *ADDED} for metric in (*gpu.ALL, *probe.ALL) for name in metric.series_names}
    uses = [(rule.get("record") or rule["alert"], rule["expr"]) for rule in RULES] + PANELS
    wrong = {
        (where, one.name, label)
        for where, expr in uses
        for one in selectors(expr)
        for label in one.labels
        if label not in labels_of.get(one.name, {label})
    }
    assert wrong == set()


@pytest.mark.parametrize(("panel", "expr"), PANELS, ids=[panel for panel, _ in PANELS])
def test_every_series_of_a_panel_is_recorded_exported_by_us_or_captured(panel: str, expr: str) -> None:
    known = OWN | RECORDED | CAPTURED | set(FOREIGN_METRICS) | PROMETHEUS_OWN
    assert {one.name for one in selectors(expr)} - known == set(), panel

"""The lint rules: each is shown the defect that it is there for, so that it is known to be able to fail."""

import copy
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from dashboards.lint import DASHBOARD_RULES, PANEL_RULES, lint, visible
from dashboards.lint_queries import QUERY_RULES
from dashboards.queries import GENERATED

Json = dict[str, Any]
TITLE = "Queue depth"


@cache
def _overview() -> str:
    return (GENERATED / "overview.json").read_text(encoding="utf-8")


def overview() -> Json:
    loaded: Json = json.loads(_overview())
    return loaded


def panel(dashboard: Json, title: str = TITLE) -> Json:
    return next(panel for panel in dashboard["panels"] if panel["title"] == title)


def expr(text: str, title: str = TITLE, **target: Any) -> Callable[[Json], None]:
    def change(dashboard: Json) -> None:
        panel(dashboard, title)["targets"][0] |= {"expr": text} | target

    return change


def of_panel(key: str, value: Any, title: str = TITLE) -> Callable[[Json], None]:
    def change(dashboard: Json) -> None:
        panel(dashboard, title)[key] = value

    return change


def field(key: str, value: Any) -> Callable[[Json], None]:
    def change(dashboard: Json) -> None:
        panel(dashboard)["fieldConfig"]["defaults"][key] = value

    return change


def place(**position: int) -> Callable[[Json], None]:
    def change(dashboard: Json) -> None:
        panel(dashboard)["gridPos"] |= position

    return change


def variable(index: int, **values: Any) -> Callable[[Json], None]:
    def change(dashboard: Json) -> None:
        dashboard["templating"]["list"][index] |= values

    return change


def of_dashboard(**values: Any) -> Callable[[Json], None]:
    return lambda dashboard: dashboard.update(values)


def a_panel_more(dashboard: Json) -> None:
    extra = copy.deepcopy(panel(dashboard)) | {"id": 999, "title": "One more"}
    extra["gridPos"] = {"h": 1, "w": 24, "x": 0, "y": 999}
    dashboard["panels"].append(extra)


def a_bad_override(dashboard: Json) -> None:
    override = {"matcher": {"id": "byName", "options": "x"}, "properties": [{"id": "unit", "value": "cps"}]}
    panel(dashboard)["fieldConfig"]["overrides"].append(override)


T = '{target=~"$target"}'
# rule -> what is done to the overview, and what the rule must say
BAD: list[tuple[str, Callable[[Json], None], str]] = [
    ("identity", of_dashboard(uid="My Dashboard"), "the uid must be lower-case words"),
    ("identity", of_dashboard(id=26), "a numeric id belongs to one Grafana's database"),
    ("identity", of_dashboard(editable=True), "editable must be false"),
    ("identity", of_dashboard(schemaVersion=12), "schemaVersion 12 is not one of Grafana 11 to 13"),
    ("identity", of_dashboard(__inputs=[]), "__inputs is not read from a provisioned file"),
    ("identity", of_dashboard(links=[]), "links and tags are how a reader gets on"),
    ("variables", variable(0, name="ds"), "the first variable must be the data source"),
    ("variables", variable(1, definition="label_values(model_name)"), "target must be label_values(series, label)"),
    ("variables", variable(1, definition="label_values(vllm:gone, target)"), "reads vllm:gone, which nothing makes"),
    ("variables", variable(1, refresh=1), "target must refresh with the time range"),
    ("titles_differ", of_panel("title", "TTFT"), "two panels have the title 'TTFT'"),
    ("titles_differ", of_panel("id", 1), "two panels have the id 1"),
    ("few_panels", a_panel_more, "26 panels are more than 25"),
    ("grid", place(w=9), "'Tokens per second' overlaps 'Queue depth'"),
    ("grid", place(w=7), "leaves 1 columns empty"),
    ("grid", place(x=20), "'Queue depth' sticks out at column 24"),
    ("says_what_it_is", of_panel("title", ""), "a panel needs a title"),
    ("says_what_it_is", of_panel("description", "Queue."), "the description must say how to read the number"),
    ("says_what_it_is", of_panel("fieldConfig", {"defaults": {"unit": "none"}, "overrides": []}), "noValue must say"),
    ("type_is_current", of_panel("type", "graph"), "the panel type graph is not built into Grafana 11 to 13"),
    ("units", field("unit", ""), "the unit '' is not one of"),
    ("units", field("unit", "ms"), "the unit 'ms' is not one of"),
    ("units", a_bad_override, "the unit 'cps' is not one of"),
    ("thresholds_are_chosen", field("thresholds", {}), "thresholds need a base step"),
    (
        "thresholds_are_chosen",
        field("thresholds", {"steps": [{"color": "green", "value": None}, {"color": "red", "value": 80}]}),
        "a threshold of 80 is Grafana's default",
    ),
    ("data_source", of_panel("datasource", "Prometheus"), "the data source must be ${datasource}"),
    ("data_source", expr(f"up{T}", datasource={"type": "prometheus", "uid": "abc"}), "must be ${datasource}"),
    ("queries_are_named", of_panel("targets", []), "it has no query"),
    ("queries_are_named", expr(f"up{T}", refId="B"), "every query needs a refId of its own"),
    ("series_exist", expr(f"vllm:gpu_cache_usage_perc{T}"), "nothing exports or records vllm:gpu_cache_usage_perc"),
    ("counters_grow", expr(f"llm_probe_started_total{T}"), "llm_probe_started_total stands outside rate()"),
    (
        "counters_grow",
        expr(f"sum(llm_probe_ttft_seconds_sum{T}) / sum(llm_probe_ttft_seconds_count{T})"),
        "llm_probe_ttft_seconds_sum stands outside rate()",
    ),
    (
        "sums_are_divided",
        expr(f"rate(llm_probe_ttft_seconds_sum{T}[$__rate_interval])"),
        "llm_probe_ttft_seconds_sum is not divided by its _count",
    ),
    (
        "no_average_of_quantiles",
        expr(f"avg by (target) (llm:ttft_seconds:p95_5m{T})"),
        "llm:ttft_seconds:p95_5m is a quantile and is averaged",
    ),
    ("no_sum_of_ratios", expr(f"sum(llm:kv_cache_usage_ratio:max{T})"), "is a ratio and is summed"),
    (
        "quantiles_keep_le",
        expr(f"histogram_quantile(0.9, sum by (target) (rate(llm_probe_ttft_seconds_bucket{T}[$__rate_interval])))"),
        "needs sum by (le, ...) inside",
    ),
    ("no_hand_scaling", expr(f"llm:kv_cache_usage_ratio:max{T} * 100"), "it scales by hand (* 100)"),
    ("no_hand_scaling", expr(f"gpu_memory_used_bytes{T} / 1e9"), "it scales by hand (/ 1e9)"),
    (
        "windows_follow_the_page",
        expr(f"rate(llm_probe_started_total{T}[5m])"),
        "llm_probe_started_total[5m] is a fixed window",
    ),
    ("windows_follow_the_page", expr(f"increase(llm_probe_started_total{T}[$__interval])"), "needs a smallest step"),
    (
        "windows_follow_the_page",
        expr(f"increase(llm_probe_started_total{T}[$__range])"),
        "[$__range] belongs into an instant query",
    ),
    (
        "recorded_series_are_not_rated",
        expr(f"rate(llm:output_tokens:rate5m{T}[$__rate_interval])"),
        "llm:output_tokens:rate5m is recorded and has its window already",
    ),
    (
        "labels_exist",
        expr('llm_probe_last_success{target=~"$target", model="x"}'),
        "llm_probe_last_success has no label model",
    ),
    ("follows_a_variable", expr("llm_targets_configured"), "it uses neither $target nor $node"),
    ("instant_or_range", expr(f"up{T}", instant=True), "exactly one of instant and range"),
]


@pytest.mark.parametrize(("rule", "spoil", "message"), BAD, ids=[f"{rule}: {says}" for rule, _, says in BAD])
def test_a_defect_is_found(rule: str, spoil: Callable[[Json], None], message: str) -> None:
    dashboard = overview()
    spoil(dashboard)
    assert any(message in found for found in lint(dashboard)), f"{rule} did not say {message!r}"


def test_each_rule_is_shown_a_defect() -> None:
    rules = {rule.__name__ for rule in (*DASHBOARD_RULES, *PANEL_RULES, *QUERY_RULES)}
    assert rules == {rule for rule, _, _ in BAD}


def test_a_violation_names_the_panel_and_the_query() -> None:
    dashboard = overview()
    expr(f"llm_probe_started_total{T}")(dashboard)
    assert "Queue depth, query A: the counter llm_probe_started_total stands outside rate() and increase()" in lint(
        dashboard
    )


def test_panels_inside_a_collapsed_row_count() -> None:
    dashboard = overview()
    row = next(panel for panel in dashboard["panels"] if panel["type"] == "row")
    row["panels"] = [copy.deepcopy(panel(dashboard)) | {"id": 999}]
    assert len(visible(dashboard)) == 26
    assert "two panels have the title 'Queue depth'" in lint(dashboard)

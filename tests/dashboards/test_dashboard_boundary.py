"""The boundary: what grafanalib writes never reaches a file, and what it means does."""

import json
from typing import Any

import pytest
from dashboard_round_trip import differences, unknown_values
from grafanalib import core

from dashboards.boundary import to_json, to_text

POSITION = core.GridPos(h=8, w=24, x=0, y=0)
TARGETS = [core.Target(expr="up", refId="A", legendFormat="{{job}}")]
STEPS = [core.Threshold("green", 0, 0.0), core.Threshold("red", 1, 0.9)]


def dashboard(*panels: core.Panel, **given: Any) -> core.Dashboard:
    return core.Dashboard(title="A page", uid="a-page", panels=list(panels), **given)


def only_panel(panel: core.Panel) -> dict[str, Any]:
    return to_json(dashboard(panel))["panels"][0]


def every_panel() -> list[core.Panel]:
    shared = {"title": "P", "targets": TARGETS, "gridPos": POSITION}
    return [
        core.Stat(**shared, thresholds=STEPS, format="s"),
        core.TimeSeries(**shared, unit="s", stacking={"mode": "normal"}),
        core.Table(**shared, unit="s", sortBy=[core.TableSortByField("Time", True)]),
        core.StateTimeline(
            **shared,
            mappings=[core.StatValueMappings(core.StatValueMappingItem("up", "1", "green"))],
        ),
        core.GaugePanel(**shared, format="s", max=1, thresholds=STEPS),
        core.BarGauge(**shared, format="s", max=1, thresholds=STEPS),
        core.Text(title="P", gridPos=POSITION, content="# Words"),
        core.RowPanel(title="R", gridPos=POSITION, collapsed=True, panels=[core.Stat(**shared)]),
    ]


def nulls(value: Any, path: str = "") -> list[str]:
    if isinstance(value, dict):
        return [found for key, inner in value.items() for found in nulls(inner, f"{path}.{key}")]
    if isinstance(value, list):
        return [found for inner in value for found in nulls(inner, path)]
    return [path] if value is None else []


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for inner in value.values() for key in keys(inner)}
    return {key for inner in value for key in keys(inner)} if isinstance(value, list) else set()


def test_raw_output_of_grafanalib_would_not_do() -> None:
    # The reason for the boundary: if this fails, grafanalib was repaired and the boundary can shrink.
    raw = json.loads(json.dumps(dashboard(*every_panel()), default=lambda item: item.to_json_data()))
    assert raw["schemaVersion"] == 12
    assert {"intervalFactor", "sharedCrosshair", "__inputs", "minSpan"} <= keys(raw)


@pytest.mark.parametrize("panel", every_panel(), ids=lambda panel: type(panel).__name__)
def test_grafana_reads_every_key_of_every_panel(panel: core.Panel) -> None:
    assert differences(to_json(dashboard(panel))) == []


@pytest.mark.parametrize("panel", every_panel(), ids=lambda panel: type(panel).__name__)
def test_grafana_knows_every_setting_of_every_panel(panel: core.Panel) -> None:
    assert unknown_values(to_json(dashboard(panel))["panels"]) == []


def test_the_checks_can_fail() -> None:
    page = to_json(dashboard(*every_panel()))
    page["panels"][0]["options"]["graphMode"] = "spark"
    page["panels"][0]["minSpan"] = 4
    assert unknown_values(page["panels"]) == ["[0].options.graphMode is 'spark'"]
    assert differences(page) == [".panels[0].minSpan is lost"]


def test_nothing_of_old_grafana_is_left() -> None:
    made = to_json(dashboard(*every_panel(), graphTooltip=1))
    old = {
        "__inputs", "gnetId", "hideControls", "rows", "sharedCrosshair", "style", "error", "height", "minSpan", "span",
        "intervalFactor", "metric", "step", "target", "fieldOptions", "columns", "fontSize", "useTags", "tagsQuery",
    }  # fmt: skip
    assert keys(made) & old == set()
    assert made["schemaVersion"] == 39


def test_the_only_null_is_the_base_of_thresholds() -> None:
    assert set(nulls(to_json(dashboard(*every_panel())))) <= {
        ".panels.fieldConfig.defaults.thresholds.steps.value",
        ".panels.panels.fieldConfig.defaults.thresholds.steps.value",
    }


def test_shared_crosshair_survives() -> None:
    assert to_json(dashboard(graphTooltip=1))["graphTooltip"] == 1


def test_a_dashboard_cannot_be_edited_and_has_no_database_id() -> None:
    made = to_json(dashboard(editable=True, id=26))
    assert made["editable"] is False
    assert "id" not in made


def test_panels_are_numbered_in_their_order() -> None:
    panels = [core.Text(title=title, gridPos=POSITION) for title in "abc"]
    assert [(panel["id"], panel["title"]) for panel in to_json(dashboard(*panels))["panels"]] == [
        (1, "a"), (2, "b"), (3, "c"),
    ]  # fmt: skip


def test_thresholds_begin_at_minus_infinity() -> None:
    steps = only_panel(core.Stat(title="P", gridPos=POSITION, targets=TARGETS, thresholds=STEPS))
    assert steps["fieldConfig"]["defaults"]["thresholds"] == {
        "mode": "absolute",
        "steps": [{"color": "green", "value": None}, {"color": "red", "value": 0.9}],
    }


@pytest.mark.parametrize("panel", every_panel()[:5], ids=lambda panel: type(panel).__name__)
def test_no_panel_gets_the_default_red_at_80(panel: core.Panel) -> None:
    steps = only_panel(panel)["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert steps[0]["value"] is None
    assert 80 not in [step["value"] for step in steps]


def test_a_gauge_says_how_to_reduce() -> None:
    for panel in (core.GaugePanel, core.BarGauge):
        made = only_panel(panel(title="P", gridPos=POSITION, targets=TARGETS, calc="lastNotNull", format="s"))
        assert made["options"]["reduceOptions"] == {"calcs": ["lastNotNull"], "fields": "", "values": False}
        assert made["fieldConfig"]["defaults"]["unit"] == "s"


def test_a_query_is_instant_or_a_range_and_follows_the_variable() -> None:
    queries = [core.Target(expr="up", refId="A", instant=True), core.Target(expr="up", refId="B", interval="5m")]
    instant, over_time = only_panel(core.Stat(title="P", gridPos=POSITION, targets=queries))["targets"]
    assert (instant["instant"], instant["range"]) == (True, False)
    assert (over_time["instant"], over_time["range"], over_time["interval"]) == (False, True, "5m")
    assert instant["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


def test_mappings_keep_their_order() -> None:
    items = [core.StatValueMappingItem("down", "0", "red"), core.StatValueMappingItem("up", "1", "green")]
    made = only_panel(
        core.Stat(title="P", gridPos=POSITION, targets=TARGETS, mappings=[core.StatValueMappings(*items)])
    )
    assert made["fieldConfig"]["defaults"]["mappings"] == [
        {
            "type": "value",
            "options": {
                "0": {"color": "red", "index": 0, "text": "down"},
                "1": {"color": "green", "index": 1, "text": "up"},
            },
        }
    ]


def test_variables_start_with_everything_chosen() -> None:
    choice = core.Template(
        name="target", label="Target", query="label_values(up, job)", multi=True, includeAll=True, allValue=".+"
    )
    source = core.Template(name="datasource", label="Source", type="datasource", query="prometheus")
    made = to_json(dashboard(templating=core.Templating([source, choice])))["templating"]["list"]
    assert made[0]["current"] == {"selected": True, "text": "default", "value": "default"}
    assert made[1]["current"]["value"] == ["$__all"]
    assert made[1]["definition"] == made[1]["query"]["query"] == "label_values(up, job)"


@pytest.mark.parametrize("panel", [core.Graph, core.SingleStat, core.PieChart, core.Heatmap])
def test_a_panel_type_that_it_does_not_know_is_refused(panel: type[core.Panel]) -> None:
    with pytest.raises(ValueError, match=r"panel 'Old' is of type '[\w-]+'; boundary_panels.py handles .*timeseries"):
        to_json(dashboard(panel(title="Old", dataSource="x", gridPos=POSITION)))


def test_a_variable_type_that_it_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="variable 'way' is of type 'custom'"):
        to_json(dashboard(templating=core.Templating([core.Template(name="way", query="a,b", type="custom")])))


def test_a_dashboard_needs_a_uid() -> None:
    with pytest.raises(ValueError, match="'No uid' needs a uid"):
        to_json(core.Dashboard(title="No uid"))


def test_what_is_no_part_of_a_dashboard_is_refused() -> None:
    with pytest.raises(ValueError, match="is no part of a dashboard"):
        to_json(dashboard(core.Text(title="P", gridPos=POSITION, links=[object()])))


def test_the_text_is_the_same_each_time_and_ends_in_a_newline() -> None:
    assert to_text(dashboard(*every_panel())) == to_text(dashboard(*every_panel()))
    assert to_text(dashboard()).endswith("}\n")

"""The functions that make panels."""

from typing import Any

import pytest
from grafanalib import core

from dashboards.boundary import to_json
from dashboards.layout import Item, Section, flow
from dashboards.panels import Column, Query, objective_line, stat, state_timeline, table, thresholds, timeseries

WORDS = ("Title", "How to read it.")


def made(panel: core.Panel) -> dict[str, Any]:
    page = core.Dashboard(title="P", uid="p", panels=flow([Section("", (Item(panel, 24, 8),))]))
    shaped: dict[str, Any] = to_json(page)["panels"][0]
    return shaped


@pytest.mark.parametrize("function", [stat, timeseries, state_timeline, table])
def test_a_panel_without_words_cannot_be_made(function: Any) -> None:
    with pytest.raises(TypeError, match=r"missing \d required .*'description'"):
        function("Title")
    with pytest.raises(TypeError, match="'empty'"):
        function(*WORDS, "none", [Query("up")])


def test_a_stat_shows_the_value_now_and_names_it_when_it_has_a_name() -> None:
    plain = made(stat(*WORDS, "s", Query("up"), empty="nothing"))
    named = made(stat(*WORDS, "s", Query("up", "{{target}}"), empty="nothing"))
    assert plain["options"]["textMode"] == "value"
    assert named["options"]["textMode"] == "value_and_name"
    assert plain["options"]["reduceOptions"]["calcs"] == ["lastNotNull"]
    assert plain["fieldConfig"]["defaults"]["noValue"] == "nothing"


def test_thresholds_are_written_as_they_are_read() -> None:
    panel = made(stat(*WORDS, "s", Query("up"), empty="", steps=thresholds("green", (1, "orange"), (2.5, "red"))))
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert [(step["color"], step["value"]) for step in steps] == [("green", None), ("orange", 1), ("red", 2.5)]


def test_time_series_begin_at_zero_and_share_may_end_at_one() -> None:
    defaults = made(timeseries(*WORDS, "percentunit", [Query("up")], empty="", ceiling=1))["fieldConfig"]["defaults"]
    assert (defaults["min"], defaults["max"]) == (0, 1)
    assert "max" not in made(timeseries(*WORDS, "s", [Query("up")], empty=""))["fieldConfig"]["defaults"]


def test_bars_are_stacked() -> None:
    custom = made(timeseries(*WORDS, "none", [Query("up")], empty="", bars=True))["fieldConfig"]["defaults"]["custom"]
    assert (custom["drawStyle"], custom["stacking"]) == ("bars", {"group": "A", "mode": "normal"})


def test_an_objective_is_dashed() -> None:
    override = objective_line("B")
    assert override["matcher"] == {"id": "byFrameRefID", "options": "B"}
    assert {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}} in override["properties"]


def test_a_table_joins_its_queries_and_hides_a_column_without_a_title() -> None:
    columns = [Column("", "a", "none"), Column("Wait", "b", "s"), Column("Up", "c", "none", {0: ("down", "red")})]
    panel = made(table(*WORDS, {"target": "Target"}, columns, empty="none", sort_by="Target"))
    merge, organize = panel["transformations"]
    assert merge["id"] == "merge"
    assert organize["options"] == {
        "excludeByName": {"Time": True, "Value #A": True},
        "indexByName": {"target": 0, "Value #B": 1, "Value #C": 2},
        "renameByName": {"target": "Target", "Value #B": "Wait", "Value #C": "Up"},
    }
    assert all((target["format"], target["instant"]) == ("table", True) for target in panel["targets"])
    assert [override["matcher"]["options"] for override in panel["fieldConfig"]["overrides"]] == ["Wait", "Up"]
    assert panel["options"]["sortBy"] == [{"displayName": "Target", "desc": False}]


def test_the_only_query_of_a_table_has_no_letter() -> None:
    panel = made(table(*WORDS, {"a": "A"}, [Column("B", "b", "s")], empty="", sort_by="B"))
    assert panel["transformations"][1]["options"]["renameByName"] == {"a": "A", "Value": "B"}


def test_a_panel_has_a_letter_for_each_query() -> None:
    panel = made(timeseries(*WORDS, "s", [Query("a"), Query("b")], empty=""))
    assert [target["refId"] for target in panel["targets"]] == ["A", "B"]
    with pytest.raises(ValueError, match="zip"):
        timeseries(*WORDS, "s", [Query("a")] * 27, empty="")


def test_a_runbook_is_linked() -> None:
    (link,) = made(stat(*WORDS, "s", Query("up"), empty="", runbook="TTFTHigh"))["links"]
    assert link["url"].endswith("/alerting/runbooks/TTFTHigh.md")
    assert link["targetBlank"] is True

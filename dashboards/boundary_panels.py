"""The panels' half of the boundary: grafanalib's panel, as plain data without nulls -> Grafana's panel."""

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
# The release whose panel options are written here; a newer Grafana migrates them itself.
PLUGIN_VERSION = "11.0.0"
# Without steps of its own a panel turns red at 80, of whatever unit.
NEUTRAL_THRESHOLDS: Json = {"mode": "absolute", "steps": [{"color": "text", "value": None}]}


def panel(raw: Json) -> Json:
    """Return one panel, or one row, in Grafana's shape.

    Raises:
        ValueError: If the panel's type is not one of OPTIONS; grafanalib still offers Angular panels, which are gone.
    """
    if raw["type"] == "row":
        return _row(raw)
    if raw["type"] not in OPTIONS:
        known = ", ".join(sorted(OPTIONS))
        raise ValueError(f"panel {raw['title']!r} is of type {raw['type']!r}; boundary_panels.py handles {known}, row")
    shaped = {
        "description": raw.get("description", ""),
        "fieldConfig": _field_config(raw),
        "gridPos": raw["gridPos"],
        "id": raw["id"],
        "links": [_link(link) for link in raw.get("links", [])],
        "options": OPTIONS[raw["type"]](raw),
        "pluginVersion": PLUGIN_VERSION,
        "title": raw["title"],
        "transparent": raw["transparent"],
        "type": raw["type"],
    }
    if raw["type"] == "text":
        return shaped
    return shaped | {
        "datasource": DATASOURCE,
        "targets": [_target(target) for target in raw["targets"]],
        "transformations": raw.get("transformations", []),
    }


def _row(raw: Json) -> Json:
    return {
        "collapsed": raw["collapsed"],
        "gridPos": raw["gridPos"],
        "id": raw["id"],
        "panels": [panel(inner) for inner in raw["panels"]],
        "title": raw["title"],
        "type": "row",
    }


def _target(raw: Json) -> Json:
    """Return a query; an instant one reads one moment, a range one the whole time shown, and never both."""
    shaped = {
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": raw["expr"],
        "format": raw["format"],
        "instant": raw["instant"],
        "legendFormat": raw["legendFormat"],
        "range": not raw["instant"],
        "refId": raw["refId"],
    }
    return shaped | ({"interval": raw["interval"]} if raw["interval"] else {})


def _link(raw: Json) -> Json:
    return {"targetBlank": raw["targetBlank"], "title": raw["title"], "type": "link", "url": raw["url"]}


def _thresholds(raw: Json) -> Json:
    steps = raw.get("steps")
    if not steps:
        return NEUTRAL_THRESHOLDS
    # grafanalib writes the first step's value, which stands for minus infinity, as the text "null".
    values = [None, *(step["value"] for step in steps[1:])]
    return {
        "mode": raw["mode"],
        "steps": [{"color": step["color"], "value": value} for step, value in zip(steps, values, strict=True)],
    }


def _field_config(raw: Json) -> Json:
    config = raw.get("fieldConfig", {})
    given = dict(config.get("defaults", {}))
    if raw["type"] == "text":
        return {"defaults": {}, "overrides": []}
    if raw["type"] == "bargauge":  # grafanalib puts a bar gauge's fields where Grafana 6 had them
        old = raw["options"]["fieldOptions"]
        given |= old["defaults"] | {"thresholds": {"mode": "absolute", "steps": old["thresholds"]}}
    names = ("color", "decimals", "links", "mappings", "max", "min", "noValue", "unit")
    defaults = {name: given[name] for name in names if name in given}
    defaults["mappings"] = [_mapping(mapping) for mapping in defaults.get("mappings", [])]
    defaults["thresholds"] = _thresholds(given.get("thresholds", {}))
    defaults["custom"] = _custom(raw["type"], given.get("custom", {}))
    return {"defaults": defaults, "overrides": config.get("overrides", [])}


def _mapping(raw: Json) -> Json:
    """Return a value mapping whose results keep the order in which they were written."""
    results = {
        value: {"color": result["color"], "index": index, "text": result["text"]}
        for index, (value, result) in enumerate(raw["options"].items())
    }
    return {"options": results, "type": "value"}


def _custom(kind: str, given: Json) -> Json:
    """Return what belongs to the panel type alone."""
    if kind == "timeseries":
        stacking = {"group": "A", "mode": "none"} | given["stacking"]
        scale = {"type": given["scaleDistribution"]["type"]}
        return given | {"stacking": stacking, "scaleDistribution": scale, "insertNulls": False}
    if kind == "table":
        cell = {"type": given["displayMode"]}
        return {"align": given["align"], "cellOptions": cell, "filterable": given["filterable"], "inspect": False}
    if kind == "state-timeline":
        return given | {"insertNulls": False, "spanNulls": False}
    return {}


def _legend(raw: Json) -> Json:
    shown = raw["displayMode"] != "hidden"
    return {
        "calcs": raw.get("calcs", []),
        "displayMode": raw["displayMode"] if shown else "list",
        "placement": raw["placement"],
        "showLegend": shown,
    }


def _timeseries(raw: Json) -> Json:
    return {"legend": _legend(raw["options"]["legend"]), "tooltip": raw["options"]["tooltip"]}


def _state_timeline(raw: Json) -> Json:
    given = raw["options"]
    names = ("alignValue", "mergeValues", "rowHeight", "showValue")
    tooltip = {"sort": "none"} | given["tooltip"]
    return {name: given[name] for name in names} | {"legend": _legend(given["legend"]), "tooltip": tooltip}


def _stat(raw: Json) -> Json:
    given = raw["options"]
    names = ("colorMode", "graphMode", "justifyMode", "orientation", "reduceOptions", "textMode")
    return {name: given[name] for name in names} | {"showPercentChange": False, "wideLayout": True}


def _table(raw: Json) -> Json:
    given = raw["options"]
    return {"cellHeight": "sm", "showHeader": given["showHeader"], "sortBy": given["sortBy"]}


def _reduced(calcs: list[str], values: bool) -> Json:
    return {"calcs": calcs, "fields": "", "values": values}


def _bar_gauge(raw: Json) -> Json:
    given = raw["options"]
    fields = given["fieldOptions"]
    return {
        "displayMode": given["displayMode"],
        "orientation": given["orientation"],
        "reduceOptions": _reduced(fields["calcs"], fields["values"]),
        "showUnfilled": True,
        "valueMode": "color",
    }


def _gauge(raw: Json) -> Json:
    given = raw["fieldConfig"]
    return {
        "orientation": "auto",
        "reduceOptions": _reduced(given["defaults"]["calcs"], given["defaults"]["values"]),
        "showThresholdLabels": given["showThresholdLabels"],
        "showThresholdMarkers": given["showThresholdMarkers"],
    }


def _text(raw: Json) -> Json:
    return {"content": raw["options"]["content"], "mode": raw["options"]["mode"]}


OPTIONS: dict[str, Callable[[Json], Json]] = {
    "bargauge": _bar_gauge,
    "gauge": _gauge,
    "stat": _stat,
    "state-timeline": _state_timeline,
    "table": _table,
    "text": _text,
    "timeseries": _timeseries,
}

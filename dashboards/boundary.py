"""The one place that turns grafanalib's output into JSON that Grafana 11 to 13 takes.

grafanalib 0.7.1 writes the schema of Grafana 5 to 8: nulls, keys long gone, thresholds whose first value is the text
"null", a step doubled by `intervalFactor`. Grafana would migrate that on each load and lose settings on the way
(`graphTooltip` for one). So nothing passes unless it is named here: what is not copied is dropped.
"""

import json
from typing import Any

import attr
from grafanalib import core

from dashboards.boundary_panels import DATASOURCE, Json, panel

# What Grafana 11.0 writes; later releases migrate from it, and none of ours reads an older one.
SCHEMA_VERSION = 39


def to_json(dashboard: core.Dashboard) -> Json:
    """Return a dashboard as Grafana stores it, with panel ids in the order of the panels.

    Raises:
        ValueError: If it has no uid or title, or holds a panel type or variable type that is not handled here.
    """
    if not dashboard.uid or not dashboard.title:
        raise ValueError(f"the dashboard {dashboard.title!r} needs a uid and a title, as links point at them")
    raw = _plain(dashboard.auto_panel_ids())
    return {
        "annotations": {"list": [BUILT_IN_ANNOTATIONS, *map(_annotation, raw["annotations"]["list"])]},
        "description": raw["description"],
        "editable": False,
        "fiscalYearStartMonth": 0,
        "graphTooltip": raw["graphTooltip"],
        "links": [_dashboard_link(link) for link in raw["links"]],
        "panels": [panel(item) for item in raw["panels"]],
        "refresh": raw["refresh"],
        "schemaVersion": SCHEMA_VERSION,
        "tags": raw["tags"],
        "templating": {"list": [_variable(variable) for variable in raw["templating"]["list"]]},
        "time": raw["time"],
        "timepicker": {},
        "timezone": raw["timezone"],
        "title": raw["title"],
        "uid": raw["uid"],
        "weekStart": "",
    }


def to_text(dashboard: core.Dashboard) -> str:
    """Return a dashboard as the text of its file; the same dashboard always gives the same text."""
    return json.dumps(to_json(dashboard), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


BUILT_IN_ANNOTATIONS: Json = {
    "builtIn": 1,
    "datasource": {"type": "grafana", "uid": "-- Grafana --"},
    "enable": True,
    "hide": True,
    "iconColor": "rgba(0, 211, 255, 1)",
    "name": "Annotations & Alerts",
    "type": "dashboard",
}


def _plain(value: object) -> Any:
    """Return grafanalib's objects as plain data, without the keys that are null."""

    def encode(item: object) -> object:
        if attr.has(type(item)) and hasattr(item, "to_json_data"):
            return item.to_json_data()
        raise ValueError(f"{item!r} is no part of a dashboard")

    def prune(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: prune(inner) for key, inner in item.items() if inner is not None}
        return [prune(inner) for inner in item] if isinstance(item, list) else item

    return prune(json.loads(json.dumps(value, default=encode)))


def _annotation(raw: Json) -> Json:
    return {
        "datasource": DATASOURCE,
        "enable": True,
        "expr": raw["expr"],
        "hide": False,
        "iconColor": raw["iconColor"],
        "name": raw["name"],
        "step": raw["step"],
        "tagKeys": raw.get("tagKeys", ""),
        "textFormat": raw["textFormat"],
        "titleFormat": raw["titleFormat"],
        "useValueForTime": False,
    }


def _dashboard_link(raw: Json) -> Json:
    names = ("asDropdown", "icon", "includeVars", "keepTime", "tags", "targetBlank", "title", "tooltip", "type", "url")
    return {name: raw[name] for name in names}


def _variable(raw: Json) -> Json:
    shared = {
        "hide": raw["hide"],
        "includeAll": raw["includeAll"],
        "label": raw.get("label", raw["name"]),
        "multi": raw["multi"],
        "name": raw["name"],
        "options": [],
        "regex": raw.get("regex", ""),
        "skipUrlSync": False,
        "type": raw["type"],
    }
    if raw["type"] == "datasource":
        # "default" is Grafana's default data source, or if that is of another type its first one of this type.
        current = {"selected": True, "text": "default", "value": "default"}
        return shared | {"current": current, "query": raw["query"], "refresh": raw["refresh"]}
    if raw["type"] == "query":
        return shared | {
            "allValue": raw.get("allValue", ".+"),
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
            "datasource": DATASOURCE,
            "definition": raw["query"],
            "query": {"query": raw["query"], "refId": f"variable-{raw['name']}"},
            "refresh": raw["refresh"],
            "sort": raw["sort"],
        }
    raise ValueError(
        f"the variable {raw['name']!r} is of type {raw['type']!r}; boundary.py handles datasource and query"
    )

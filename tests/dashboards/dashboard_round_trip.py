"""Reads a dashboard with Grafana's own SDK and writes it again: a key that Grafana does not know is lost on the way."""

import json
import warnings
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins

with warnings.catch_warnings():
    # It recommends its second schema, which only Grafana 12 and later read; ours is for 11 to 13.
    warnings.filterwarnings("ignore", "Prefer using dashboardv2", DeprecationWarning)
    from grafana_foundation_sdk.models import common
    from grafana_foundation_sdk.models import dashboard as dashboard_models

register_default_plugins()


def differences(dashboard: dict[str, Any]) -> list[str]:
    """Return the path of each key that is lost or changed; what the SDK adds is no matter."""
    again = json.loads(JSONEncoder().encode(dashboard_models.Dashboard.from_json(dashboard)))
    return list(_differences(dashboard, again, ""))


def _differences(ours: Any, theirs: Any, path: str) -> list[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        lost = [f"{path}.{key} is lost" for key in ours.keys() - theirs.keys()]
        return lost + [
            found
            for key in ours.keys() & theirs.keys()
            for found in _differences(ours[key], theirs[key], f"{path}.{key}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [found for index, (one, other) in pairs for found in _differences(one, other, f"{path}[{index}]")]
    return [] if ours == theirs else [f"{path} was {ours!r} and is {theirs!r}"]


# Settings whose values Grafana draws from a closed set, which the round trip above does not check.
CHOICES: dict[str, set[Any]] = {
    key: {member.value for member in choice}
    for key, choice in {
        "alignValue": common.TimelineValueAlignment,
        "axisPlacement": common.AxisPlacement,
        "barAlignment": common.BarAlignment,
        "cellHeight": common.TableCellHeight,
        "displayMode": common.LegendDisplayMode,
        "drawStyle": common.GraphDrawStyle,
        "gradientMode": common.GraphGradientMode,
        "graphMode": common.BigValueGraphMode,
        "graphTooltip": dashboard_models.DashboardCursorSync,
        "hide": dashboard_models.VariableHide,
        "justifyMode": common.BigValueJustifyMode,
        "lineInterpolation": common.LineInterpolation,
        "orientation": common.VizOrientation,
        "placement": common.LegendPlacement,
        "refresh": dashboard_models.VariableRefresh,
        "showPoints": common.VisibilityMode,
        "showValue": common.VisibilityMode,
        "sort": common.SortOrder,
        "textMode": common.BigValueTextMode,
        "valueMode": common.BarGaugeValueMode,
    }.items()
}
CHOICES["displayMode"] |= {member.value for member in common.BarGaugeDisplayMode}
CHOICES["sort"] |= {member.value for member in dashboard_models.VariableSort}
CHOICES["hide"] |= {True, False}  # of an annotation


def unknown_values(value: Any, path: str = "") -> list[str]:
    """Return each setting below `value` that Grafana does not know."""
    if isinstance(value, list):
        return [found for index, inner in enumerate(value) for found in unknown_values(inner, f"{path}[{index}]")]
    if not isinstance(value, dict):
        return []
    wrong = [
        f"{path}.{key} is {inner!r}"
        for key, inner in value.items()
        if key in CHOICES and not isinstance(inner, dict | list) and inner not in CHOICES[key]
    ]
    return wrong + [found for key, inner in value.items() for found in unknown_values(inner, f"{path}.{key}")]

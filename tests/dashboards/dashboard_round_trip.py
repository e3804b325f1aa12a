"""Reads a dashboard with Grafana's own SDK and writes it again: a key that Grafana does not know is lost on the way."""

import json
import warnings
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins

with warnings.catch_warnings():
    # It recommends its second schema, which only Grafana 12 and later read; ours is for 11 to 13.
    warnings.filterwarnings("ignore", "Prefer using dashboardv2", DeprecationWarning)
    from grafana_foundation_sdk.models.dashboard import Dashboard

register_default_plugins()


def differences(dashboard: dict[str, Any]) -> list[str]:
    """Return the path of each key that is lost or changed; what the SDK adds is no matter."""
    again = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
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

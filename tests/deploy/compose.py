"""docker-compose.yml as data, for the tests of this folder."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).parents[2]
FILE = CHECKOUT / "docker-compose.yml"
# Services that do one thing and end; nothing waits to be asked for its health.
ONE_SHOT = frozenset({"grafana-password"})
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@cache
def document() -> dict[str, Any]:
    """Return the whole file; YAML's merge keys are resolved, variables are not."""
    loaded: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return loaded


def services() -> dict[str, dict[str, Any]]:
    """Return service by name."""
    found: dict[str, dict[str, Any]] = document()["services"]
    return found


def filled_in(text: str) -> str:
    """Return a value as Compose reads it when no variable is set."""
    return _VARIABLE.sub(lambda found: found.group(2) or "", text)


def variables() -> set[str]:
    """Return the names of all variables that the file uses."""
    return {found.group(1) for found in _VARIABLE.finditer(FILE.read_text(encoding="utf-8"))}


def mounts(service: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Return source, target and whether it is read-only, of each mount; a source without a slash is a named volume."""
    found = []
    for volume in service.get("volumes", []):
        if isinstance(volume, dict):
            found.append((filled_in(volume["source"]), volume["target"], bool(volume.get("read_only"))))
        else:
            source, target, *mode = filled_in(volume).split(":")
            found.append((source, target, mode == ["ro"]))
    return found

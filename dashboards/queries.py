"""Every query of every panel, ready to be sent to a Prometheus: read from the generated files that Grafana loads."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from dashboards.boundary_panels import Json

GENERATED = Path(__file__).resolve().parent / "generated"
SCRAPE_INTERVAL = "15s"
_SECONDS = {"s": 1, "m": 60, "h": 3600}

# Panels, or one query of them, that hold nothing on a healthy stack, and why. Everything else must return data on the
# demo: one llama.cpp server with a price and objectives, users, probes and simulated GPUs.
MAY_BE_EMPTY: dict[tuple[str, str], str] = {
    ("What is firing", "A"): "nothing fires on a healthy stack",
    ("KV cache used", "A"): "llama.cpp does not report how full its KV cache is",
    ("Probe outcomes", "B"): "there are no failed probes on a healthy stack",
    ("Cost per million tokens", "C"): "only targets with cost.alert_above_per_mtok have a limit",
    ("Probes not started", "A"): "every probe that is due is started on a healthy stack",
    ("Tokens left today", "A"): "only targets with a probe_budget of tokens have some left",
}


@dataclass(frozen=True)
class PanelQuery:
    """One query as Grafana would send it.

    Attributes:
        panel: The panel's title.
        ref_id: The query's letter in the panel.
        expr: PromQL without Grafana's variables.
        instant: Whether Grafana asks for one moment, or for a range.
        may_be_empty: Why it may return nothing on a healthy stack; empty where it must return data.
    """

    panel: str
    ref_id: str
    expr: str
    instant: bool
    may_be_empty: str


def panel_queries(time_range: str = "1h") -> list[PanelQuery]:
    """Return every panel's queries for all targets and nodes, as if `time_range` were shown.

    Raises:
        ValueError: If an expression holds a variable that is not known here.
    """
    return [
        PanelQuery(
            panel=panel["title"],
            ref_id=target["refId"],
            expr=substitute(target["expr"], target.get("interval", ""), time_range),
            instant=target["instant"],
            may_be_empty=MAY_BE_EMPTY.get((panel["title"], target["refId"]), ""),
        )
        for file in sorted(GENERATED.glob("*.json"))
        for panel in _panels(json.loads(file.read_text(encoding="utf-8")))
        for target in panel.get("targets", [])
    ]


def substitute(expr: str, min_step: str, time_range: str) -> str:
    """Return an expression without variables, as Grafana would fill them in on a page of `time_range`.

    Grafana's `$__rate_interval` is at least four of the query's smallest steps, or of the scrape interval.
    """
    step = min_step or SCRAPE_INTERVAL
    values = {
        "__rate_interval": f"{4 * _seconds(step)}s",
        "__interval": step,
        "__range": time_range,
        "target": ".+",
        "node": ".+",
    }

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise ValueError(f"{found[0]} is not known in queries.py: {expr}")
        return values[found[1]]

    return re.sub(r"\$(\w+)", value, expr)


def _seconds(duration: str) -> int:
    return int(duration[:-1]) * _SECONDS[duration[-1]]


def _panels(dashboard: Json) -> list[Json]:
    return [inner for panel in dashboard["panels"] for inner in (panel, *panel.get("panels", []))]

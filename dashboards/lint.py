"""Rules that every dashboard keeps, on its JSON: the defects of public LLM dashboards, written as checks."""

import re
from collections.abc import Callable, Iterator

from dashboards.boundary_panels import Json
from dashboards.known import known_series
from dashboards.layout import COLUMNS
from dashboards.lint_queries import QUERY_RULES
from dashboards.series import selectors

PANEL_TYPES = frozenset({"bargauge", "gauge", "stat", "state-timeline", "table", "text", "timeseries"})
# `none` is for counts, states and money, whose currency is the target's own.
UNITS = frozenset({"none", "s", "percentunit", "celsius", "suffix:tok/s"})
MOST_PANELS = 25
SCHEMA_VERSIONS = range(39, 43)


def lint(dashboard: Json) -> list[str]:
    """Return every violation as a sentence that names the panel; an empty list is a good dashboard."""
    found = [message for rule in DASHBOARD_RULES for message in rule(dashboard)]
    for panel in visible(dashboard):
        found += [f"{panel['title']}: {message}" for rule in PANEL_RULES for message in rule(panel)]
        for target in panel.get("targets", []):
            where = f"{panel['title']}, query {target['refId']}"
            found += [f"{where}: {message}" for rule in QUERY_RULES for message in rule(target)]
    return found


def visible(dashboard: Json) -> list[Json]:
    """Return the panels, without the rows that hold them."""
    nested = [inner for panel in dashboard["panels"] for inner in panel.get("panels", [])]
    return [panel for panel in (*dashboard["panels"], *nested) if panel["type"] != "row"]


def identity(dashboard: Json) -> Iterator[str]:
    """Check what makes a file safe to provision."""
    if not re.fullmatch(r"[a-z0-9-]{1,40}", dashboard.get("uid", "")):
        yield "the uid must be lower-case words with hyphens, at most 40 characters"
    if dashboard.get("id") is not None:
        yield "a numeric id belongs to one Grafana's database; leave it out"
    if dashboard.get("editable") is not False:
        yield "editable must be false, as changes in Grafana are not kept"
    if dashboard.get("schemaVersion") not in SCHEMA_VERSIONS:
        yield f"schemaVersion {dashboard.get('schemaVersion')} is not one of Grafana 11 to 13"
    for key in dashboard.keys() & {"__inputs", "__requires", "rows", "style", "sharedCrosshair", "hideControls"}:
        yield f"{key} is not read from a provisioned file"
    if not dashboard.get("links") or not dashboard.get("tags"):
        yield "links and tags are how a reader gets on from here"


def variables(dashboard: Json) -> Iterator[str]:
    """Check that variables are scoped to a metric that exists and follow the time range."""
    listed = dashboard["templating"]["list"]
    if [variable["name"] for variable in listed[:1]] != ["datasource"]:
        yield "the first variable must be the data source, called datasource"
    for variable in listed[1:]:
        scoped = re.fullmatch(r"label_values\((.+), *\w+\)", variable["definition"])
        if not scoped:
            yield f"the variable {variable['name']} must be label_values(series, label)"
        elif unknown := {use.name for use in selectors(scoped[1])} - known_series():
            yield f"the variable {variable['name']} reads {', '.join(unknown)}, which nothing makes"
        if variable["refresh"] != 2 or not (variable["multi"] and variable["includeAll"]):
            yield f"the variable {variable['name']} must refresh with the time range, take several values and All"


def titles_differ(dashboard: Json) -> Iterator[str]:
    """Check that a title names one panel, and an id too."""
    everything = [*dashboard["panels"], *(inner for row in dashboard["panels"] for inner in row.get("panels", []))]
    for key, values in (
        ("title", [panel["title"] for panel in visible(dashboard)]),
        ("id", [panel["id"] for panel in everything]),
    ):
        for value in {value for value in values if values.count(value) > 1}:
            yield f"two panels have the {key} {value!r}"


def few_panels(dashboard: Json) -> Iterator[str]:
    """Check that a person can still take the page in."""
    if len(visible(dashboard)) > MOST_PANELS:
        yield f"{len(visible(dashboard))} panels are more than {MOST_PANELS}; make a second dashboard"


def grid(dashboard: Json) -> Iterator[str]:
    """Check that panels neither overlap nor leave holes nor stick out."""
    taken: dict[tuple[int, int], str] = {}
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        for y in range(place["y"], place["y"] + place["h"]):
            for x in range(place["x"], place["x"] + place["w"]):
                if x >= COLUMNS:
                    yield f"{panel['title']!r} sticks out at column {x}"
                if other := taken.get((x, y)):
                    yield f"{panel['title']!r} overlaps {other!r} at {x}, {y}"
                taken[x, y] = panel["title"]
    for y in {line for _, line in taken}:
        if width := sum((x, y) not in taken for x in range(COLUMNS)):
            yield f"line {y} leaves {width} columns empty"


def says_what_it_is(panel: Json) -> Iterator[str]:
    """Check title, description and what an empty panel means."""
    if not panel["title"]:
        yield "a panel needs a title"
    if len(panel.get("description", "")) < 60:
        yield "the description must say how to read the number and where it comes from"
    if panel["type"] not in ("text", "row") and "noValue" not in panel["fieldConfig"]["defaults"]:
        yield "noValue must say what an empty panel means"


def type_is_current(panel: Json) -> Iterator[str]:
    """Check for panel types that Grafana 12 removed, and for plug-ins that nobody has installed."""
    if panel["type"] not in PANEL_TYPES:
        yield f"the panel type {panel['type']} is not built into Grafana 11 to 13"


def units(panel: Json) -> Iterator[str]:
    """Check that each number has a unit, in overrides too."""
    if panel["type"] == "text":
        return
    given = [panel["fieldConfig"]["defaults"].get("unit", "")]
    for override in panel["fieldConfig"]["overrides"]:
        given += [item["value"] for item in override["properties"] if item["id"] == "unit"]
    for unit in given:
        if unit not in UNITS:
            yield f"the unit {unit!r} is not one of {', '.join(sorted(UNITS))}"


def thresholds_are_chosen(panel: Json) -> Iterator[str]:
    """Check that no panel turns red at 80 of whatever it shows, which is what Grafana does by default."""
    if panel["type"] == "text":
        return
    steps = panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", [])
    if not steps or steps[0]["value"] is not None:
        yield "thresholds need a base step with the value null"
    if any(step["value"] == 80 for step in steps):
        yield "a threshold of 80 is Grafana's default, not a choice"


def data_source(panel: Json) -> Iterator[str]:
    """Check that every query follows the data source variable."""
    wanted = {"type": "prometheus", "uid": "${datasource}"}
    sources = [panel.get("datasource"), *(target.get("datasource") for target in panel.get("targets", []))]
    if panel["type"] != "text" and any(source != wanted for source in sources):
        yield "the data source must be ${datasource}, of type prometheus"


def queries_are_named(panel: Json) -> Iterator[str]:
    """Check that a panel has queries, and that each has a letter of its own."""
    letters = [target["refId"] for target in panel.get("targets", [])]
    if panel["type"] != "text" and not letters:
        yield "it has no query"
    if len(set(letters)) != len(letters) or "" in letters:
        yield "every query needs a refId of its own"


def series_exist(panel: Json) -> Iterator[str]:
    """Check that something makes each series that is used."""
    known = known_series()
    for target in panel.get("targets", []):
        for use in selectors(target["expr"]):
            if use.name not in known:
                yield f"nothing exports or records {use.name}"


Rule = Callable[[Json], Iterator[str]]
DASHBOARD_RULES: tuple[Rule, ...] = (identity, variables, titles_differ, few_panels, grid)
PANEL_RULES: tuple[Rule, ...] = (
    says_what_it_is,
    type_is_current,
    units,
    thresholds_are_chosen,
    data_source,
    queries_are_named,
    series_exist,
)

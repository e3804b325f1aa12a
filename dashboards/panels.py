"""Panels with what a reader needs: title, description, unit and what an empty panel means are required arguments."""

from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

from grafanalib import core

from inferwatch.links import runbook_url

Override = dict[str, Any]


@dataclass(frozen=True)
class Query:
    """One PromQL expression of a panel.

    Attributes:
        expr: The expression; it may use $target, $node, $__rate_interval and so on.
        legend: What names a series, such as ``{{target}}``.
        min_step: The smallest step; `$__rate_interval` is at least four of them. For events rarer than scrapes.
    """

    expr: str
    legend: str = ""
    min_step: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table that joins instant queries.

    Attributes:
        title: Its heading; a column without one is not shown, and only makes the lines.
        expr: Yields one sample for each row, with exactly the labels that name the row.
        unit: Grafana's unit.
        mappings: Values and what to show for them: text and colour.
    """

    title: str
    expr: str
    unit: str
    mappings: dict[int, tuple[str, str]] = field(default_factory=dict)


def thresholds(base: str, *steps: tuple[float, str]) -> list[core.Threshold]:
    """Return colours by value: `base` below the first step, then each step's colour from its value on."""
    return [
        core.Threshold(base, 0, 0.0),
        *(core.Threshold(color, index, float(value)) for index, (value, color) in enumerate(steps, start=1)),
    ]


def stat(
    title: str,
    description: str,
    unit: str,
    query: Query,
    *,
    empty: str,
    steps: list[core.Threshold] | None = None,
    mappings: dict[int, tuple[str, str]] | None = None,
    runbook: str = "",
) -> core.Stat:
    """Return one big number: the value now, with the name of its series where the query has a legend."""
    return core.Stat(
        title=title,
        description=description,
        format=unit,
        targets=_targets([query], instant=True),
        noValue=empty,
        thresholds=steps or [],
        mappings=_mappings(mappings or {}),
        color={"mode": "thresholds"},
        reduceCalc="lastNotNull",
        graphMode="none",
        textMode="value_and_name" if query.legend else "value",
        links=_runbook(runbook),
    )


def timeseries(
    title: str,
    description: str,
    unit: str,
    queries: list[Query],
    *,
    empty: str,
    ceiling: int | None = None,
    bars: bool = False,
    overrides: list[Override] | None = None,
    runbook: str = "",
) -> core.TimeSeries:
    """Return lines over time from 0 up to `ceiling`, or to the largest value; or stacked bars of counts."""
    look = {"drawStyle": "bars", "fillOpacity": 80, "stacking": {"mode": "normal"}} if bars else {"fillOpacity": 5}
    return core.TimeSeries(
        title=title,
        description=description,
        unit=unit,
        targets=_targets(queries),
        valueMin=0,
        valueMax=ceiling,
        overrides=overrides or [],
        tooltipMode="multi",
        tooltipSort="desc",
        links=_runbook(runbook),
        extraJson=_no_value(empty),
        **look,
    )


def state_timeline(
    title: str,
    description: str,
    unit: str,
    queries: list[Query],
    *,
    empty: str,
    mappings: dict[int, tuple[str, str]],
    runbook: str = "",
) -> core.StateTimeline:
    """Return one band for each series, coloured by state; a gap means that nothing was measured."""
    return core.StateTimeline(
        title=title,
        description=description,
        targets=_targets(queries),
        mappings=_mappings(mappings),
        showValue="never",
        legendDisplayMode="hidden",
        links=_runbook(runbook),
        extraJson=_no_value(empty, unit=unit),
    )


def table(
    title: str,
    description: str,
    row: dict[str, str],
    columns: list[Column],
    *,
    empty: str,
    sort_by: str,
    overrides: list[Override] | None = None,
) -> core.Table:
    """Return a table of values now: one line for each set of labels, one column for each expression.

    `row` holds the labels that name a line, each with its heading. A cell without a value holds a dash.
    """
    targets = _targets([Query(column.expr) for column in columns], instant=True)
    for target in targets:
        target.format = "table"
    return core.Table(
        title=title,
        description=description,
        unit="none",
        targets=targets,
        transformations=[{"id": "merge", "options": {}}, {"id": "organize", "options": _organize(row, columns)}],
        overrides=[_column_override(column) for column in columns if column.title] + (overrides or []),
        sortBy=[core.TableSortByField(displayName=sort_by)],
        extraJson=_no_value(empty),
    )


def by_name(name: str, **properties: object) -> Override:
    """Return an override for the field called `name`; a property's dots are written as double underscores."""
    return _override("byName", name, properties)


def by_query(ref_id: str, **properties: object) -> Override:
    """Return an override for every series of one query, A being the first."""
    return _override("byFrameRefID", ref_id, properties)


def objective_line(ref_id: str) -> Override:
    """Return an override that draws a query as a dashed line, for limits that somebody set."""
    return by_query(ref_id, custom__lineStyle={"fill": "dash", "dash": [10, 10]}, custom__fillOpacity=0)


def _override(matcher: str, options: str, properties: dict[str, object]) -> Override:
    values = [{"id": name.replace("__", "."), "value": value} for name, value in properties.items()]
    return {"matcher": {"id": matcher, "options": options}, "properties": values}


def _organize(row: dict[str, str], columns: list[Column]) -> dict[str, Any]:
    """Return which fields of the joined queries are shown, in which order and under which heading."""
    # Grafana calls a query's values by its letter, unless it is the only one.
    fields = ["Value"] if len(columns) == 1 else [f"Value #{letter}" for letter in ascii_uppercase[: len(columns)]]
    titles = dict(zip(fields, (column.title for column in columns), strict=True))
    shown = row | {name: title for name, title in titles.items() if title}
    return {
        "excludeByName": {name: True for name in ("Time", *titles) if name not in shown},
        "indexByName": {name: index for index, name in enumerate(shown)},
        "renameByName": shown,
    }


def _column_override(column: Column) -> Override:
    override = by_name(column.title, unit=column.unit, noValue="-")
    if column.mappings:
        results = {
            str(value): {"color": color, "index": index, "text": text}
            for index, (value, (text, color)) in enumerate(column.mappings.items())
        }
        override["properties"] += [
            {"id": "mappings", "value": [{"options": results, "type": "value"}]},
            {"id": "custom.cellOptions", "value": {"type": "color-text"}},
        ]
    return override


def _targets(queries: list[Query], instant: bool = False) -> list[core.Target]:
    letters = ascii_uppercase[: len(queries)]
    return [
        core.Target(expr=query.expr, legendFormat=query.legend, interval=query.min_step, instant=instant, refId=letter)
        for letter, query in zip(letters, queries, strict=True)
    ]


def _mappings(mappings: dict[int, tuple[str, str]]) -> list[core.StatValueMappings]:
    items = [core.StatValueMappingItem(text, str(value), color) for value, (text, color) in mappings.items()]
    return [core.StatValueMappings(*items)] if items else []


def _no_value(empty: str, **defaults: str) -> dict[str, Any]:
    return {"fieldConfig": {"defaults": {"noValue": empty} | defaults}}


def _runbook(alert: str) -> list[core.DataLink]:
    if not alert:
        return []
    return [core.DataLink(title=f"Runbook: {alert}", linkUrl=runbook_url(alert), isNewTab=True)]

"""What every dashboard has around its panels: variables, annotations and links."""

from grafanalib import core

from dashboards import expressions as expr
from dashboards.boundary_panels import DATASOURCE
from dashboards.layout import Section, flow
from exporters.probe import metrics as probe
from inferwatch.links import REPOSITORY

TAG = "llm"
SHARED_CROSSHAIR = 1
ON_TIME_RANGE_CHANGE = 2


def framed(uid: str, title: str, description: str, sections: list[Section], *, file: str, gpus: bool) -> core.Dashboard:
    """Return a dashboard of these rows.

    Args:
        uid: What its address ends in.
        title: Its name.
        description: The questions that it answers.
        sections: Its rows.
        file: The code that it is generated from.
        gpus: Whether GPU nodes can be chosen beside targets.
    """
    return core.Dashboard(
        uid=uid,
        title=title,
        description=(
            f"{description} Generated from {file} in {REPOSITORY}; change it there, as changes made in Grafana are "
            "not kept."
        ),
        tags=[TAG],
        time=core.Time("now-3h", "now"),
        refresh="30s",
        timezone="browser",
        graphTooltip=SHARED_CROSSHAIR,
        templating=core.Templating(_variables(gpus)),
        annotations=core.Annotations([_pages(), _changes()]),
        links=_links(),
        panels=flow(sections),
    )


def _variables(gpus: bool) -> list[core.Template]:
    """Return the variables; each is read from what is configured, so that the dead stay selectable."""
    found = [
        core.Template(name="datasource", label="Data source", type="datasource", query="prometheus"),
        _choice("target", "Target", f"label_values({probe.TARGET_INFO}, target)"),
    ]
    return [*found, _choice("node", "GPU node", 'label_values(up{job="gpu"}, node)')] if gpus else found


def _choice(name: str, label: str, query: str) -> core.Template:
    return core.Template(
        name=name,
        label=label,
        query=query,
        dataSource=DATASOURCE,
        multi=True,
        includeAll=True,
        allValue=".+",
        refresh=ON_TIME_RANGE_CHANGE,
    )


def _pages() -> dict[str, object]:
    return {
        "name": "Pages",
        "expr": f'ALERTS{{alertstate="firing", severity="page", {expr.TARGET_OR_NONE}}}',
        "iconColor": "red",
        "step": "60s",
        "tagKeys": "target,node",
        "titleFormat": "{{alertname}} {{target}}{{node}}",
        "textFormat": "a page was firing",
    }


def _changes() -> dict[str, object]:
    """Mark when another model or server began to answer; fingerprints are left out, as some services alternate."""
    changed = f'increase({probe.IDENTITY_CHANGES}{{field!="system_fingerprint", {expr.TARGET}}}[2m])'
    return {
        "name": "Other model or version",
        "expr": f"max by (target, field) ({changed}) > 0",
        "iconColor": "blue",
        "step": "60s",
        "tagKeys": "target",
        "titleFormat": "{{target}}: another {{field}}",
        "textFormat": "its answers or its server name another one than before",
    }


def _links() -> list[core.DashboardLink]:
    return [
        core.DashboardLink(
            title="LLM dashboards", type="dashboards", tags=[TAG], includeVars=True, keepTime=True, asDropdown=True
        ),
        core.DashboardLink(
            title="Runbooks",
            type="link",
            icon="doc",
            uri=f"{REPOSITORY}/tree/main/alerting/runbooks",
            targetBlank=True,
            keepTime=False,
        ),
        core.DashboardLink(
            title="What the numbers mean",
            type="link",
            icon="info",
            uri=f"{REPOSITORY}/blob/main/docs/definitions.md",
            targetBlank=True,
            keepTime=False,
        ),
    ]

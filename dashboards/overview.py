"""The overview: one page for the engineer who is on call."""

from grafanalib import core

from dashboards import expressions as expr
from dashboards.boundary_panels import DATASOURCE
from dashboards.layout import flow
from dashboards.rows import cost, gpus, latency, load, now, probes
from exporters.probe import metrics as probe
from inferwatch.links import REPOSITORY
from prometheus.vocabulary import OVERVIEW_UID

TAG = "llm"
SHARED_CROSSHAIR = 1
ON_TIME_RANGE_CHANGE = 2


def overview() -> core.Dashboard:
    """Return the dashboard."""
    return core.Dashboard(
        uid=OVERVIEW_UID,
        title="LLM overview",
        description=(
            "Is it slow, who notices, why, since when, and what does it cost? Generated from dashboards/overview.py in "
            f"{REPOSITORY}; change it there, as changes made in Grafana are not kept."
        ),
        tags=[TAG],
        time=core.Time("now-3h", "now"),
        refresh="30s",
        timezone="browser",
        graphTooltip=SHARED_CROSSHAIR,
        templating=core.Templating(_variables()),
        annotations=core.Annotations([_pages()]),
        links=_links(),
        panels=flow([module.section() for module in (now, latency, load, probes, cost, gpus)]),
    )


def _variables() -> list[core.Template]:
    """Return the variables; each is read from what is configured, so that the dead stay selectable."""
    return [
        core.Template(name="datasource", label="Data source", type="datasource", query="prometheus"),
        _choice("target", "Target", f"label_values({probe.TARGET_INFO}, target)"),
        _choice("node", "GPU node", 'label_values(up{job="gpu"}, node)'),
    ]


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

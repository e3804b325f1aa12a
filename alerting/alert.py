"""What an alert is, and how it becomes a Prometheus rule."""

from dataclasses import dataclass, field
from typing import Literal

from inferwatch.links import runbook_url
from prometheus import vocabulary as names
from prometheus.groups import Rule

# page: users notice, act now; ticket: today; info: only to look at; none: not a fault (Watchdog).
Severity = Literal["page", "ticket", "info", "none"]
# A page inhibits tickets of its family on the same target (alertmanager.yml).
Family = Literal["availability", "latency", "saturation", "gpu", "cost", "monitoring"]


@dataclass(frozen=True)
class Alert:
    """One alert rule; several may share a name when they differ in `labels`.

    Attributes:
        name: What the notification and the runbook's file are called.
        expr: PromQL; each series that it yields is one alert.
        severity: Who is told.
        family: What kind of trouble it is.
        summary: One line, what is wrong, with the labels that say where.
        description: The value, its threshold and the likely cause, in sentences.
        wait: How long `expr` must hold, Prometheus's `for`; empty is at once.
        labels: Fixed labels beside severity and family.
    """

    name: str
    expr: str
    severity: Severity
    family: Family
    summary: str
    description: str
    wait: str = ""
    labels: dict[str, str] = field(default_factory=dict)

    def rule(self) -> Rule:
        """Return the alert as a rule of Prometheus."""
        made: Rule = {"alert": self.name, "expr": self.expr}
        if self.wait:
            made["for"] = self.wait
        made["labels"] = {"severity": self.severity, "family": self.family} | self.labels
        made["annotations"] = {
            "summary": self.summary,
            "description": self.description,
            "runbook_url": runbook_url(self.name),
            "dashboard_url": _dashboard(self.family),
        }
        return made


def _dashboard(family: Family) -> str:
    """Return the path of the overview, with the target or the node of the alert chosen."""
    path = f"/d/{names.OVERVIEW_UID}"
    if family == "monitoring":
        return path
    if family == "gpu":
        return f"{path}?var-node={{{{ $labels.node }}}}"
    return f"{path}?var-target={{{{ $labels.target }}}}"


def looked_up(expr: str, *labels: str, shown: str, before: str = "", after: str = "") -> str:
    """Return a template that shows the first sample of a query when the alert is rendered, or nothing if it has none.

    Args:
        expr: PromQL with one ``%s`` for each label and without double quotes.
        labels: Names of labels of the alert whose values are put in.
        shown: What is shown of the sample, such as ``value . | humanizeDuration`` or ``.Labels.reason``.
        before: Text that belongs to it and goes with it.
        after: The same behind it.
    """
    values = " ".join(f"$labels.{label}" for label in labels)
    sample = f'{{{{ with printf "{expr}" {values} | query }}}}{{{{ with first . }}}}'
    return f"{sample}{before}{{{{ {shown} }}}}{after}{{{{ end }}}}{{{{ end }}}}"

"""Addresses that panels link to."""

REPOSITORY = "https://github.com/inferwatch/inferwatch"
RUNBOOKS = f"{REPOSITORY}/tree/main/alerting/runbooks"
OVERVIEW_UID = "inferwatch-overview"


def runbook_url(alert: str) -> str:
    """Return where an alert's runbook is read; `alert` may be a Grafana variable."""
    return f"{REPOSITORY}/blob/main/alerting/runbooks/{alert}.md"

"""Addresses that more than one part links to, written once."""

REPOSITORY = "https://github.com/inferwatch/inferwatch"
RUNBOOKS = f"{REPOSITORY}/blob/main/alerting/runbooks"


def runbook_url(alert: str) -> str:
    """Return where an alert's runbook is read; `alert` may be a Grafana variable."""
    return f"{RUNBOOKS}/{alert}.md"

"""The overview: one page for the engineer who is on call."""

from grafanalib import core

from dashboards.frame import framed
from dashboards.rows import cost, gpus, latency, load, now, probes
from prometheus.vocabulary import OVERVIEW_UID


def overview() -> core.Dashboard:
    """Return the dashboard."""
    return framed(
        OVERVIEW_UID,
        "LLM overview",
        "Is it slow, who notices, why, since when, and what does it cost?",
        [module.section() for module in (now, latency, load, probes, cost, gpus)],
        file="dashboards/overview.py",
        gpus=True,
    )

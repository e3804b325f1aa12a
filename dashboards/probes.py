"""What lies behind the overview's row of probes: each scenario, who answers and how, and whether probes run at all."""

from grafanalib import core

from dashboards.frame import framed
from dashboards.rows import answers, scenarios, schedule
from prometheus.vocabulary import PROBES_UID


def probes() -> core.Dashboard:
    """Return the dashboard."""
    return framed(
        PROBES_UID,
        "LLM probes",
        "Which scenario is slow or fails, who answers it, and can the measurement be trusted?",
        [module.section() for module in (answers, scenarios, schedule)],
        file="dashboards/probes.py",
        gpus=False,
    )

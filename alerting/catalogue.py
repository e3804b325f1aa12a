"""All alerts, by the file that they are written to."""

from alerting import availability, gpu_faults, latency, monitoring, resources
from alerting.alert import Alert
from prometheus.groups import Group, group

# A series for each GPU, and only tickets.
INTERVALS = {"gpu-faults": "30s", "resources": "30s"}


def catalogue() -> dict[str, list[Alert]]:
    """Return the alerts by subject."""
    return {
        "availability": availability.alerts(),
        "latency": latency.alerts(),
        "resources": resources.alerts(),
        "gpu-faults": gpu_faults.alerts(),
        "monitoring": monitoring.alerts(),
    }


def rule_groups() -> dict[str, list[Group]]:
    """Return the one group of each file of alerting/rules, by the file's name without `.yml`."""
    return {
        subject: [group(f"alerts-{subject}", (alert.rule() for alert in alerts), INTERVALS.get(subject))]
        for subject, alerts in catalogue().items()
    }

"""All recording rules, by the file that they are written to."""

from prometheus import baseline_rules, cost_rules, engine_rules, gpu_rules, probe_rules
from prometheus.groups import Group

# As prometheus.yml has it for groups without an interval of their own.
EVALUATION_INTERVAL = "15s"


def rule_groups() -> dict[str, list[Group]]:
    """Return the rule groups of each file of prometheus/rules, by its name without `.yml`."""
    return {
        **engine_rules.by_file(),
        "probes": probe_rules.groups(),
        "gpu": gpu_rules.groups(),
        "cost": cost_rules.groups(),
        "baselines": baseline_rules.groups(),
    }


def intervals() -> dict[str, str]:
    """Return how often each series is recorded, by its name."""
    return {
        rule["record"]: group.get("interval", EVALUATION_INTERVAL)
        for groups in rule_groups().values()
        for group in groups
        for rule in group["rules"]
    }

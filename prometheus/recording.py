"""All recording rules, by the file that they are written to."""

from prometheus import baseline_rules, cost_rules, engine_rules, gpu_rules, probe_rules
from prometheus.groups import Group


def rule_groups() -> dict[str, list[Group]]:
    """Return the rule groups of each file of prometheus/rules, by its name without `.yml`."""
    return {
        **engine_rules.by_file(),
        "probes": probe_rules.groups(),
        "gpu": gpu_rules.groups(),
        "cost": cost_rules.groups(),
        "baselines": baseline_rules.groups(),
    }

"""`python -m alerting.generate` writes the alert rules to alerting/rules."""

from pathlib import Path

from alerting.catalogue import rule_groups
from prometheus.generate import write
from prometheus.groups import rule_file

FOLDER = Path(__file__).resolve().parent / "rules"


def rendered() -> dict[Path, str]:
    """Return the text of every generated file."""
    return {FOLDER / f"{name}.yml": rule_file(groups, "alerting.generate") for name, groups in rule_groups().items()}


if __name__ == "__main__":
    write(rendered())

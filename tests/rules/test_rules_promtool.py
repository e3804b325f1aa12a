from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

pytestmark = pytest.mark.tool("promtool")


@pytest.mark.parametrize("file", sorted(HERE.glob("*.test.yml")), ids=lambda file: file.name.removesuffix(".test.yml"))
def test_rules_do_what_is_written_there(run, file: Path):
    assert "SUCCESS" in run("promtool", "test", "rules", file)


def test_every_rule_file_is_valid(run):
    files = [*(ROOT / "prometheus" / "rules").glob("*.yml"), *(ROOT / "alerting" / "rules").glob("*.yml")]
    assert len(files) >= 9
    printed = run("promtool", "check", "rules", "--lint=all", "--lint-fatal", *files)
    assert printed.count("SUCCESS") == len(files)


def test_the_configuration_is_valid_and_finds_the_rules(run):
    printed = run("promtool", "check", "config", "--lint=all", ROOT / "prometheus" / "prometheus.yml")
    assert "9 rule files found" in printed

from pathlib import Path

import pytest

from stack import runconfig
from stack.services import CONTAINER_ADDRESSES, NEVER_HERE

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = sorted([*(ROOT / "prometheus" / "rules").glob("*.yml"), *(ROOT / "alerting" / "rules").glob("*.yml")])

pytestmark = pytest.mark.tool("promtool")


@pytest.mark.parametrize("file", sorted(HERE.glob("*.test.yml")), ids=lambda file: file.name.removesuffix(".test.yml"))
def test_rules_do_what_is_written_there(run, file: Path):
    assert "SUCCESS" in run("promtool", "test", "rules", file)


def test_every_rule_file_is_valid(run):
    printed = run("promtool", "check", "rules", "--lint=all", "--lint-fatal", *FILES)
    assert printed.count("SUCCESS") == len(FILES)


def test_the_configuration_is_valid_and_finds_the_rules(run, tmp_path: Path):
    # As `inferwatch up` writes it, with the key that promtool looks for and the server does without.
    key = tmp_path / "secrets" / "engine-metrics-key"
    key.parent.mkdir()
    key.write_text("k")
    addresses = dict.fromkeys(CONTAINER_ADDRESSES.values(), "127.0.0.1:1")
    runconfig.write_prometheus(tmp_path / "prometheus.yml", addresses, NEVER_HERE, tmp_path)
    printed = run("promtool", "check", "config", "--lint=all", tmp_path / "prometheus.yml")
    assert f"{len(FILES)} rule files found" in printed

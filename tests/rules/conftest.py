import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "prometheus" / "rules"


@pytest.fixture
def run(tool: Callable[[str], Path]) -> Callable[..., str]:
    """Return a function that runs a program, fails the test with what it printed, and returns that."""

    def call(name: str, *arguments: object) -> str:
        done = subprocess.run(
            [tool(name), *map(str, arguments)], capture_output=True, text=True, timeout=900, check=False
        )
        printed = done.stdout + done.stderr
        assert done.returncode == 0, printed
        return printed

    return call


@pytest.fixture
def promtool_test(run: Callable[..., str], tmp_path: Path) -> Callable[..., None]:
    """Return a function that runs one promtool test, given as data, against one engine's rules."""

    def call(rules: str, test: dict[str, Any]) -> None:
        groups = yaml.safe_load((RULES / rules).read_text())["groups"]
        document = {
            "rule_files": [str(RULES / rules)],
            # As the file has them: the later groups read what the first records.
            "group_eval_order": [group["name"] for group in groups],
            "evaluation_interval": "15s",
            "tests": [test],
        }
        file = tmp_path / "replay.yml"
        file.write_text(yaml.safe_dump(document, width=4096))
        run("promtool", "test", "rules", file)

    return call

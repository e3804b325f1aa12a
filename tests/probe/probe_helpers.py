"""Shared by the probe exporter's tests: targets and scenarios in one line, and waiting on a condition."""

import time
from collections.abc import Callable
from typing import Any

from inferwatch.config import Scenario, Target

# Far above what any machine needs; a test that waits this long has failed.
PATIENCE = 60.0


def target(url: str, **more: Any) -> Target:
    return Target.model_validate({"name": "chat", "url": url, **more})


def scenario(timeout: str = "30s", **more: Any) -> Scenario:
    values = {"prompt": "the prompt", "max_tokens": 64, "interval": "60s", "timeout": timeout}
    return Scenario.model_validate(values | more)


def until(condition: Callable[[], Any], what: str) -> Any:
    """Return the condition's value once it is true; fail with `what` if it never is."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE:g} s: {what}")

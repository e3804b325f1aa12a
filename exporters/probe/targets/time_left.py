"""What is left of a probe's time once something was asked for it, so that all of it ends within the timeout."""

import time

from exporters.probe.failures import ProbeError
from inferwatch.config import Scenario

# With less there is no use in asking, and whatever was cut short would be blamed.
SHORTEST_SECONDS = 0.1
# What took less took nothing, and figures stay round.
_NOTHING_SECONDS = 0.01


def time_left(scenario: Scenario, since: float, what: str) -> Scenario:
    """Return the scenario with the timeout that is left.

    Args:
        scenario: What will be asked.
        since: When its time began, in monotonic seconds.
        what: What has taken time since, as a sentence begins: "listing the models".

    Raises:
        ProbeError: If nearly nothing is left; a server that was so slow would have been silent on the probe.
    """
    timeout = scenario.timeout or 60.0
    took = time.monotonic() - since
    if took < _NOTHING_SECONDS:
        return scenario
    if timeout - took < SHORTEST_SECONDS:
        raise ProbeError("ttft_timeout", f"{what} took {took:.2g} s of the {timeout:g} s that the probe had")
    return scenario.model_copy(update={"timeout": round(timeout - took, 2)})

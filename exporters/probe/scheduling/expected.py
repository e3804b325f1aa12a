"""How long a probe is expected to take, before anybody has measured it: for `inferwatch check` and for first runs."""

from inferwatch.config import Scenario

# A slow server of today that is not overloaded.
FIRST_TOKEN_SECONDS = 0.5
SECONDS_PER_TOKEN = 0.025


def expected_seconds(scenario: Scenario) -> float:
    """Return the seconds that a probe with an answer of full length takes, at most the scenario's timeout."""
    expected = FIRST_TOKEN_SECONDS + SECONDS_PER_TOKEN * scenario.max_tokens
    return min(expected, scenario.timeout or expected)

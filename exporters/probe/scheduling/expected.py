"""How long a probe is expected to take, before anybody has measured it: for `inferwatch check` and for first runs."""

from inferwatch.config import Scenario

# A slow server of today that is not overloaded.
FIRST_TOKEN_SECONDS = 0.5
SECONDS_PER_TOKEN = 0.025


def expected_seconds(scenario: Scenario) -> float:
    """Return the seconds that a probe takes, with the request that primes it; each takes at most the timeout."""
    answers = [answer_seconds(scenario), FIRST_TOKEN_SECONDS] if scenario.primed else [answer_seconds(scenario)]
    return sum(min(seconds, scenario.timeout or seconds) for seconds in answers)


def answer_seconds(scenario: Scenario) -> float:
    """Return the seconds that an answer of full length takes."""
    return FIRST_TOKEN_SECONDS + SECONDS_PER_TOKEN * scenario.max_tokens

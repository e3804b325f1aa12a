"""What a scenario asks: the messages of one probe, and what their answer must be."""

import time

from exporters.probe.protocols import Question
from inferwatch.config import Scenario
from inferwatch.config.scenario import Case


def case_of(scenario: Scenario, now: float | None = None) -> Case:
    """Return the question whose turn it is at a Unix time.

    The clock decides, so that a restart does not begin anew, and several targets do not share out the questions.
    """
    cases = scenario.all_cases
    turn = int((time.time() if now is None else now) // (scenario.interval or 60.0))
    return cases[turn % len(cases)]


def question_of(scenario: Scenario, case: Case) -> Question:
    """Return what one probe asks."""
    messages = ({"role": "user", "content": case.prompt},)
    return Question(messages, scenario.max_tokens, scenario.stream)

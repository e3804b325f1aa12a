"""What a scenario asks: the messages of one probe."""

from exporters.probe.protocols import Question
from inferwatch.config import Scenario


def question_of(scenario: Scenario) -> Question:
    """Return what one probe of the scenario asks."""
    messages = ({"role": "user", "content": scenario.prompt},)
    return Question(messages, scenario.max_tokens, scenario.stream)

"""What a scenario asks: the messages of one probe, and what their answer must be."""

import secrets
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
    """Return what one probe asks; a cold one begins with what no other prompt began with."""
    messages = [{"role": message.role, "content": message.content} for message in scenario.messages_of(case)]
    if scenario.cold:
        # Engines cache whole blocks of a prefix, so one different token in the first block leaves nothing to reuse.
        messages[0]["content"] = f"[{secrets.token_hex(16)}] {messages[0]['content']}"
    schema = case.checks.schema_of_answer if case.checks is not None else None
    return Question(
        tuple(messages),
        scenario.max_tokens,
        scenario.stream,
        tools=tuple(tool.declared for tool in scenario.tools or ()),
        must_call=scenario.tool_choice == "required",
        json_form=scenario.response_format,
        json_schema=schema.document if schema is not None else None,
    )

"""Whether an answer calls the tool that it should, with arguments that the tool could take."""

from collections.abc import Sequence

from exporters.probe.checks.json_value import json_value
from exporters.probe.protocols.calls import Call
from inferwatch.config.schema import Schema


def failed_call(calls: Sequence[Call], name: str, wanted: Schema | None) -> str | None:
    """Return what is wrong with the calls of an answer; None if one of them is right. Nothing of them is quoted."""
    if not calls:
        return "the answer calls no tool"
    found = [call for call in calls if call.name == name]
    if not found:
        return f"the answer does not call {name}"
    problems = [_problem(call, wanted) for call in found]
    return None if None in problems else f"the arguments of {name} {problems[0]}"


def _problem(call: Call, wanted: Schema | None) -> str | None:
    try:
        # Servers send "" for no arguments.
        arguments = json_value(call.arguments or "{}")
    except ValueError:
        return "are not JSON"
    if not isinstance(arguments, dict):
        return "are no JSON object"
    rule = wanted.broken_by(arguments) if wanted is not None else None
    return None if rule is None else f"break {rule}"

"""Which scenarios an API can ask at all: without a way to say it, tools and the form of an answer would be left out.

Nor can one succeed whose good ends the API never gives.
"""

from inferwatch.config.ends import IN_OPENAI_WORDS
from inferwatch.config.scenario import Scenario
from inferwatch.config.target import Target

WITH_TOOLS = ("openai-chat", "openai-responses", "ollama", "anthropic")
WITH_FORMAT = ("openai-chat", "openai-responses", "ollama")


def cannot_ask(target: Target, name: str, scenario: Scenario) -> str | None:
    """Return a sentence that says why a target's API cannot ask the scenario of that name; None if it can."""
    api = target.api
    if scenario.tools and api not in WITH_TOOLS:
        return f"{api} has no tools, which {name!r} needs; those that do: {', '.join(WITH_TOOLS)}"
    if scenario.tool_choice == "required" and api == "ollama":
        return f"ollama has no tool_choice, which {name!r} needs; leave it out, or write another api:"
    if scenario.response_format and api not in WITH_FORMAT:
        return f"{api} has no response format, which {name!r} needs; those that do: {', '.join(WITH_FORMAT)}"
    own = IN_OPENAI_WORDS.get(api, {})
    if all(reason in own for reason in scenario.finish_reasons):
        words = ", ".join(f"{reason} as {own[reason]}" for reason in scenario.finish_reasons)
        told = f"the ends of {api} are told in OpenAI's words ({words})"
        return f"{told}; write these into finish_reasons of {name!r}, or every probe fails"
    return None

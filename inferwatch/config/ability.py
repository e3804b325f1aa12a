"""Which scenarios an API can ask at all: without a way to say it, tools and the form of an answer would be left out."""

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
    return None

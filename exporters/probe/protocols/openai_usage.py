"""The counts in the `usage` of OpenAI's APIs, and of servers that count otherwise under the same names."""

from exporters.probe.protocols.base import Usage, count

_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")


def usage_of(usage: object) -> Usage | None:
    """Return the counts of a `usage` object; a zero or nonsensical count is none.

    OpenAI's total is prompt and completion. xAI and Gemini leave reasoning out of the completion, and gateways to
    Bedrock what a cache held or took in out of the prompt; the total has it.
    """
    if not isinstance(usage, dict):
        return None
    prompt, completion = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    reasoning = reasoning_tokens(usage.get("completion_tokens_details"))
    total = count(usage.get("total_tokens"))
    beyond = total - prompt - (completion or 0) if prompt is not None and total is not None else 0
    if prompt is None or beyond <= 0:
        return Usage(prompt, completion, reasoning)
    if beyond in _cached(usage):
        return Usage(prompt + beyond, completion, reasoning)
    return Usage(prompt, (completion or 0) + beyond, reasoning or beyond)


def reasoning_tokens(details: object) -> int | None:
    """Return how many of the output's tokens are reasoning, by the `..._details` of a `usage` object."""
    return count(details.get("reasoning_tokens")) if isinstance(details, dict) else None


def _cached(usage: dict[str, object]) -> set[int]:
    """Return what the prompt may lack: what was read from a cache, what was written to it, or both."""
    read, written = (count(usage.get(key)) or 0 for key in _CACHED)
    return {read, written, read + written}

"""The counts in the `usage` of OpenAI's APIs, and of servers that count otherwise under the same names."""

from collections.abc import Mapping

from exporters.probe.protocols.base import Usage, count

_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")


def usage_of(usage: object, prompt_key: str = "prompt_tokens", output_key: str = "completion_tokens") -> Usage | None:
    """Return the counts of a `usage` object; a zero or nonsensical count is none.

    OpenAI's total is prompt and output. xAI and Gemini leave reasoning out of the output, and gateways to Bedrock what
    a cache held or took in out of the prompt; the total has it.
    """
    if not isinstance(usage, dict):
        return None
    prompt, output, total = (count(usage.get(key)) for key in (prompt_key, output_key, "total_tokens"))
    reasoning = _detail(usage, output_key, "reasoning_tokens")
    if prompt is None or total is None or (beyond := total - prompt - (output or 0)) <= 0:
        return Usage(prompt, output, reasoning)
    # Where both fit, a count of reasoning is the surer sign: most servers have what was cached among the prompt.
    if beyond != reasoning and beyond in _cached(usage, prompt_key):
        return Usage(prompt + beyond, output, reasoning)
    return Usage(prompt, (output or 0) + beyond, reasoning or beyond)


def _cached(usage: Mapping[str, object], prompt_key: str) -> set[int]:
    """Return what the prompt may lack: what was read from a cache, what was written to it, or both."""
    read, written = (count(usage.get(key)) or 0 for key in _CACHED)
    reads = {read, _detail(usage, prompt_key, "cached_tokens") or 0}
    return {written} | reads | {read + written for read in reads}


def _detail(usage: Mapping[str, object], key: str, name: str) -> int | None:
    """Return a count in the details that go with the count `key`."""
    details = usage.get(f"{key}_details")
    return count(details.get(name)) if isinstance(details, dict) else None

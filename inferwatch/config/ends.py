"""Why answers end, in the words of OpenAI's chat completions: so `finish_reasons` means the same for every API."""

from collections.abc import Iterable, Mapping

# Servers speak OpenAI's API with words of their own: TGI, and Anthropic behind a gateway.
_BEHIND_OPENAI = {
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
}
# What an API says -> what it is told as, in probes and in the file; other words of an API stay as they are.
IN_OPENAI_WORDS: Mapping[str, Mapping[str, str]] = {
    "anthropic": {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "tool_use": "tool_calls",
        "refusal": "content_filter",
    },
    "llamacpp": {"eos": "stop", "word": "stop", "limit": "length"},
    "openai-chat": _BEHIND_OPENAI,
    "openai-completions": _BEHIND_OPENAI,
    "openai-responses": {"completed": "stop", "max_output_tokens": "length"},
    "tgi": {"eos_token": "stop", "stop_sequence": "stop"},
}


def in_openai_words(api: str, reasons: Iterable[str]) -> list[str]:
    """Return reasons in OpenAI's words, also those that a file gives in the API's own."""
    words = IN_OPENAI_WORDS.get(api, {})
    return [words.get(reason, reason) for reason in reasons]

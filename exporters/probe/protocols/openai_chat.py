"""OpenAI chat completions: `POST {url}/chat/completions`."""

from exporters.probe.protocols.base import Channel, Decoder
from exporters.probe.protocols.openai import MEDIA_TYPES, STREAM, OpenAiDecoder
from inferwatch.config import Scenario

# vLLM from 0.23 says `reasoning`, others `reasoning_content`; both are tokens that the user waits for.
_TEXT_FIELDS: tuple[tuple[str, Channel], ...] = (
    ("content", "content"),
    ("reasoning_content", "reasoning"),
    ("reasoning", "reasoning"),
    ("refusal", "refusal"),
)


class OpenAiChat:
    """The protocol that `api: openai-chat` names."""

    path = "/chat/completions"
    media_types = MEDIA_TYPES

    def body(self, model: str, scenario: Scenario) -> dict[str, object]:
        """Return the request's JSON."""
        messages = [{"role": "user", "content": scenario.prompt}]
        return {"model": model, "messages": messages, "max_tokens": scenario.max_tokens, "temperature": 0, **STREAM}

    def decoder(self) -> Decoder:
        """Return a decoder for one answer."""
        return _ChatDecoder()


class _ChatDecoder(OpenAiDecoder):
    def tokens(self, choice: dict[str, object]) -> tuple[Channel | None, str]:
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return None, ""
        for field, channel in _TEXT_FIELDS:
            if text := _text(delta.get(field)):
                return channel, text
        calls = delta.get("tool_calls")
        functions = (
            [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        )
        text = "".join(_call(function) for function in [*functions, delta.get("function_call")])
        return ("tool", text) if text else (None, "")


def _text(value: object) -> str:
    """Return the text of a delta's field; Mistral sends a list of typed parts instead of a string."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_part(part) for part in value if isinstance(part, dict))
    return ""


def _part(part: dict[str, object]) -> str:
    return _text(part.get("text")) or _text(part.get("thinking"))


def _call(function: object) -> str:
    if not isinstance(function, dict):
        return ""
    return "".join(value for key in ("name", "arguments") if isinstance(value := function.get(key), str))

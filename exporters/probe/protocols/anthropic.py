"""Anthropic messages: `POST {url}/v1/messages`; also served by vLLM, llama.cpp and LiteLLM.

https://docs.anthropic.com/en/api/messages-streaming
"""

from collections.abc import Mapping
from types import MappingProxyType

from exporters.probe.protocols.base import CallPiece, Channel, Decoder, Question, StreamEvent, Usage, count, identifier
from exporters.probe.protocols.calls import call_piece
from exporters.probe.protocols.decoders import DocumentDecoder, Json, SseDecoder
from inferwatch.config.ends import IN_OPENAI_WORDS

# A signature_delta carries no token: it signs the thinking before it.
_DELTAS: dict[object, tuple[str, Channel]] = {
    "text_delta": ("text", "content"),
    "thinking_delta": ("thinking", "reasoning"),
    "input_json_delta": ("partial_json", "tool"),
}
_BLOCKS: dict[object, tuple[str, Channel]] = {
    "text": ("text", "content"),
    "thinking": ("thinking", "reasoning"),
    "tool_use": ("name", "tool"),
}
_FINISH_REASONS = IN_OPENAI_WORDS["anthropic"]
_PROMPT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Anthropic:
    """The protocol that `api: anthropic` names."""

    path = document_path = "/v1/messages"
    models_path = "/v1/models"
    stream_types = ("text/event-stream",)
    headers: Mapping[str, str] = MappingProxyType({"anthropic-version": "2023-06-01"})

    def body(self, model: str, question: Question) -> dict[str, object]:
        """Return the request's JSON; what the system says stands outside the messages."""
        system = "\n\n".join(message["content"] for message in question.messages if message["role"] == "system")
        return {
            "model": model,
            **({"system": system} if system else {}),
            **({"tools": [_tool(tool) for tool in question.tools]} if question.tools else {}),
            **({"tool_choice": {"type": "any"}} if question.must_call else {}),
            "messages": [dict(message) for message in question.messages if message["role"] != "system"],
            "max_tokens": question.max_tokens,
            "temperature": 0,
            "stream": question.stream,
        }

    def decoder(self, stream: bool = True) -> Decoder:
        """Return a decoder for one answer."""
        return SseDecoder(_read_event) if stream else DocumentDecoder(_read_document)


def _read_event(data: Json) -> StreamEvent:
    kind = data.get("type")
    if kind == "message_start":
        message = data.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        # Its output_tokens are a first guess; the count comes with the end.
        return StreamEvent(usage=Usage(_prompt_tokens(usage), None))
    if kind == "content_block_start":
        block = data.get("content_block")
        # Its input comes in deltas.
        return StreamEvent(*_tokens(block, _BLOCKS), calls=_calls(block, data.get("index"), whole=False))
    if kind == "content_block_delta":
        delta = data.get("delta")
        return StreamEvent(*_tokens(delta, _DELTAS), calls=_arguments(delta, data.get("index")))
    if kind == "message_delta":
        delta = data.get("delta")
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        return StreamEvent(finish_reason=_finish_reason(reason), usage=_usage(data.get("usage")))
    # Whatever else there is (ping, content_block_stop, kinds to come) carries no token.
    return StreamEvent(done=kind == "message_stop")


def _read_document(data: Json) -> StreamEvent:
    blocks = data.get("content")
    found = [_tokens(block, _BLOCKS) for block in blocks] if isinstance(blocks, list) else []
    content = [text for channel, text in found if channel == "content"]
    channel: Channel | None = "content" if content else next((channel for channel, _ in found if channel), None)
    text = "".join(content or (text for _, text in found))
    called = [_calls(block, None, whole=True) for block in blocks] if isinstance(blocks, list) else []
    return StreamEvent(
        channel,
        text,
        _finish_reason(data.get("stop_reason")),
        _usage(data.get("usage")),
        calls=tuple(piece for pieces in called for piece in pieces),
    )


def _tool(tool: Mapping[str, object]) -> Json:
    return {("input_schema" if key == "parameters" else key): value for key, value in tool.items()}


def _calls(block: object, place: object, whole: bool) -> tuple[CallPiece, ...]:
    if not isinstance(block, dict) or block.get("type") != "tool_use":
        return ()
    return (call_piece(place, block.get("name"), block.get("input") if whole else ""),)


def _arguments(delta: object, place: object) -> tuple[CallPiece, ...]:
    if not isinstance(delta, dict) or delta.get("type") != "input_json_delta":
        return ()
    return (call_piece(place, "", delta.get("partial_json")),)


def _tokens(part: object, fields: dict[object, tuple[str, Channel]]) -> tuple[Channel | None, str]:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str) or kind not in fields:
        return None, ""
    field, channel = fields[kind]
    text = part.get(field)
    return (channel, text) if isinstance(text, str) and text else (None, "")


def _finish_reason(reason: object) -> str | None:
    if not reason:
        return None
    named = identifier(reason)
    return _FINISH_REASONS.get(named, named) if named else "other"


def _usage(usage: object) -> Usage | None:
    return Usage(_prompt_tokens(usage), count(usage.get("output_tokens"))) if isinstance(usage, dict) else None


def _prompt_tokens(usage: object) -> int | None:
    """Return all tokens of the prompt; those that a cache held are counted apart."""
    if not isinstance(usage, dict):
        return None
    return sum(count(usage.get(key)) or 0 for key in _PROMPT_COUNTS) or None

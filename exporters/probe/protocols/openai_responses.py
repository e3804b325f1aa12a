"""OpenAI's Responses API: `POST {url}/responses`; also served by vLLM, SGLang, llama.cpp and Ollama.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from exporters.probe.protocols.base import (
    NO_HEADERS,
    Channel,
    Decoder,
    Question,
    StreamEvent,
    Usage,
    error_identifier,
    identifier,
)
from exporters.probe.protocols.calls import call_piece
from exporters.probe.protocols.decoders import DocumentDecoder, Json, SseDecoder
from exporters.probe.protocols.openai import MODELS_PATH, STREAM_TYPES, Tokens, timings
from exporters.probe.protocols.openai_usage import usage_of
from exporters.probe.protocols.shapes import choice, named_schema
from inferwatch.config.ends import IN_OPENAI_WORDS

# Only deltas carry tokens: `response.created` and its like come at once, and each `.done` repeats what was streamed.
_DELTAS: dict[str, Channel] = {
    "response.output_text.delta": "content",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.function_call_arguments.delta": "tool",
    "response.custom_tool_call_input.delta": "tool",
    "response.mcp_call_arguments.delta": "tool",
    "response.code_interpreter_call_code.delta": "tool",
    "response.refusal.delta": "refusal",
}
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_PARTS: dict[str, tuple[str, Channel]] = {
    "output_text": ("text", "content"),
    "reasoning_text": ("text", "reasoning"),
    "summary_text": ("text", "reasoning"),
    "refusal": ("refusal", "refusal"),
}
_FINISH_REASONS = IN_OPENAI_WORDS["openai-responses"]


class OpenAiResponses:
    """The protocol that `api: openai-responses` names."""

    path = document_path = "/responses"
    models_path = MODELS_PATH
    stream_types = STREAM_TYPES
    headers = NO_HEADERS

    def body(self, model: str, question: Question) -> dict[str, object]:
        """Return the request's JSON; the server is asked to keep nothing of it."""
        return {
            "model": model,
            "input": [dict(message) for message in question.messages],
            "max_output_tokens": question.max_tokens,
            "temperature": 0,
            "store": False,
            **({"tools": [{"type": "function", **tool} for tool in question.tools]} if question.tools else {}),
            **choice(question),
            **({"text": {"format": wanted}} if (wanted := named_schema(question)) else {}),
            "stream": question.stream,
        }

    def decoder(self, stream: bool = True) -> Decoder:
        """Return a decoder for one answer."""
        return SseDecoder(_read_event) if stream else DocumentDecoder(_read_response)


def _read_event(data: Json) -> StreamEvent:
    kind = data.get("type")
    if not isinstance(kind, str):
        return StreamEvent()
    if kind in _DELTAS:
        text = data.get("delta")
        if not isinstance(text, str) or not text:
            return StreamEvent()
        channel = _DELTAS[kind]
        return StreamEvent(
            channel, text, calls=(call_piece(data.get("output_index"), "", text),) if channel == "tool" else ()
        )
    if kind == "response.output_item.added":
        # The name of the function that is called is generated like its arguments.
        item = data.get("item")
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name:
            return StreamEvent()
        return StreamEvent("tool", name, calls=(call_piece(data.get("output_index"), name, ""),))
    response = data.get("response")
    if kind not in _ENDS or not isinstance(response, dict):
        return StreamEvent()
    # What it holds was streamed before. llama.cpp puts its own times beside it.
    end = _read_response(response)
    seconds = timings(data.get("timings"))
    return StreamEvent(
        finish_reason=end.finish_reason, usage=end.usage, error=end.error, done=True, server_seconds=seconds
    )


def _read_response(data: Json) -> StreamEvent:
    """Return what a whole response says: the answer that was not streamed, or the end of one that was."""
    error = data.get("error")
    if error or data.get("status") == "failed":
        return StreamEvent(error=error_identifier(error), usage=_usage(data.get("usage")))
    items = [item for item in _list(data.get("output")) if isinstance(item, dict)]
    found = [tokens for item in items for tokens in _item(item)]
    content = [text for channel, text in found if channel == "content"]
    channel: Channel | None = "content" if content else next((channel for channel, _ in found), None)
    text = "".join(content or (text for _, text in found))
    called = [item for item in items if item.get("type") == "function_call"]
    calls = tuple(call_piece(None, item.get("name"), item.get("arguments")) for item in called)
    return StreamEvent(channel, text, _finish_reason(data, items), _usage(data.get("usage")), calls=calls)


def _item(item: Json) -> list[Tokens]:
    """Return the channel and text of each part of an output item that has some."""
    if item.get("type") == "function_call":
        call = "".join(value for key in ("name", "arguments") if isinstance(value := item.get(key), str))
        return [("tool", call)] if call else []
    found: list[Tokens] = []
    for part in (*_list(item.get("summary")), *_list(item.get("content"))):
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(part, dict) or not isinstance(kind, str) or kind not in _PARTS:
            continue
        field, channel = _PARTS[kind]
        text = part.get(field)
        if isinstance(text, str) and text:
            found.append((channel, text))
    return found


def _finish_reason(data: Json, items: list[Json]) -> str | None:
    status = data.get("status")
    if status == "incomplete":
        details = data.get("incomplete_details")
        reason = identifier(details.get("reason")) if isinstance(details, dict) else None
        return _FINISH_REASONS.get(reason, reason) if reason else "other"
    if status != "completed":
        return None
    return "tool_calls" if any(item.get("type") == "function_call" for item in items) else _FINISH_REASONS["completed"]


def _usage(usage: object) -> Usage | None:
    return usage_of(usage, "input_tokens", "output_tokens")


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []

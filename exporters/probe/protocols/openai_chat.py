"""OpenAI chat completions: `POST {url}/chat/completions`."""

from exporters.probe.protocols.base import NO_HEADERS, CallPiece, Channel, Decoder, Question, StreamEvent
from exporters.probe.protocols.calls import function_pieces
from exporters.probe.protocols.decoders import DocumentDecoder, Json, SseDecoder
from exporters.probe.protocols.openai import MODELS_PATH, STREAM_TYPES, Tokens, options, read
from exporters.probe.protocols.shapes import functions, named_schema

# vLLM from 0.23 says `reasoning`, others `reasoning_content`; both are tokens that the user waits for.
_TEXT_FIELDS: tuple[tuple[str, Channel], ...] = (
    ("content", "content"),
    ("reasoning_content", "reasoning"),
    ("reasoning", "reasoning"),
    ("refusal", "refusal"),
)
# What the parts of a list hold: Mistral's thinking, and OpenRouter's details of reasoning.
_PART_FIELDS = ("text", "thinking", "summary")


class OpenAiChat:
    """The protocol that `api: openai-chat` names."""

    path = document_path = "/chat/completions"
    models_path = MODELS_PATH
    stream_types = STREAM_TYPES
    headers = NO_HEADERS

    def body(self, model: str, question: Question) -> dict[str, object]:
        """Return the request's JSON."""
        return {
            "model": model,
            "messages": [dict(message) for message in question.messages],
            **functions(question),
            **_response_format(question),
            **options(question),
        }

    def decoder(self, stream: bool = True) -> Decoder:
        """Return a decoder for one answer."""
        return SseDecoder(_read_chunk) if stream else DocumentDecoder(_read_document)


def _read_chunk(data: Json) -> StreamEvent:
    return read(data, lambda choice: _tokens(choice.get("delta")), lambda choice: _calls(choice.get("delta")))


def _read_document(data: Json) -> StreamEvent:
    return read(data, lambda choice: _tokens(choice.get("message")), lambda choice: _calls(choice.get("message")))


def _response_format(question: Question) -> Json:
    wanted = named_schema(question)
    if wanted is None:
        return {}
    if question.json_form == "json_schema":
        wanted = {"type": wanted.pop("type"), "json_schema": wanted}
    return {"response_format": wanted}


def _calls(message: object) -> tuple[CallPiece, ...]:
    return function_pieces(message.get("tool_calls")) if isinstance(message, dict) else ()


def _tokens(message: object) -> Tokens:
    """Return the tokens of a delta or a whole message; content before reasoning where it holds both."""
    if not isinstance(message, dict):
        return None, ""
    for field, channel in _TEXT_FIELDS:
        if text := _text(message.get(field)):
            return channel, text
    if text := _text(message.get("reasoning_details")):
        return "reasoning", text
    calls = message.get("tool_calls")
    called = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    functions = [call.get(kind) for call in called for kind in ("function", "custom")]
    text = "".join(_call(function) for function in [*functions, message.get("function_call")])
    return ("tool", text) if text else (None, "")


def _text(value: object, levels: int = 2) -> str:
    """Return the text of a delta's field; Mistral sends a list of typed parts instead of a string, in two levels."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and levels:
        return "".join(_part(part, levels - 1) for part in value if isinstance(part, dict))
    return ""


def _part(part: dict[str, object], levels: int) -> str:
    return next((text for field in _PART_FIELDS if (text := _text(part.get(field), levels))), "")


def _call(function: object) -> str:
    if not isinstance(function, dict):
        return ""
    return "".join(value for key in ("name", "arguments", "input") if isinstance(value := function.get(key), str))

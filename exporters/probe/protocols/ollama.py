"""Ollama's own API: `POST {url}/api/chat`, one JSON object a line; the last says how long the server took itself.

https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from exporters.probe.protocols.base import (
    NO_HEADERS,
    CallPiece,
    Channel,
    Decoder,
    Question,
    StreamEvent,
    Usage,
    count,
    identifier,
)
from exporters.probe.protocols.base import nanoseconds as seconds_of
from exporters.probe.protocols.calls import function_pieces
from exporters.probe.protocols.decoders import DocumentDecoder, Json, LinesDecoder
from exporters.probe.protocols.shapes import functions

_TEXT_FIELDS: tuple[tuple[str, Channel], ...] = (("content", "content"), ("thinking", "reasoning"))
_DURATIONS = {"load": "load_duration", "prefill": "prompt_eval_duration", "decode": "eval_duration"}


class Ollama:
    """The protocol that `api: ollama` names."""

    path = document_path = "/api/chat"
    models_path = "/api/tags"
    stream_types = ("application/x-ndjson", "application/ndjson", "application/jsonl")
    headers = NO_HEADERS

    def body(self, model: str, question: Question) -> dict[str, object]:
        """Return the request's JSON."""
        return {
            "model": model,
            "messages": [dict(message) for message in question.messages],
            "stream": question.stream,
            **functions(question),
            **_format(question),
            "options": {"num_predict": question.max_tokens, "temperature": 0},
        }

    def decoder(self, stream: bool = True) -> Decoder:
        """Return a decoder for one answer."""
        return LinesDecoder(_read) if stream else DocumentDecoder(_read)


def _read(data: Json) -> StreamEvent:
    message = data.get("message")
    channel, text = _tokens(message)
    # Each is whole; its index is none, or the same for all of them.
    whole = (piece._replace(place=None) for piece in _calls(message))
    if data.get("done") is not True:
        return StreamEvent(channel, text, calls=tuple(whole))
    # Before 0.3 the last line gave no reason; that it is the last was said all the same.
    reason = data.get("done_reason")
    return StreamEvent(
        channel,
        text,
        finish_reason=identifier(reason) or "other" if reason else "stop",
        # prompt_eval_count is missing when the whole prompt was cached (ollama#2068).
        usage=Usage(count(data.get("prompt_eval_count")), count(data.get("eval_count"))),
        done=True,
        server_seconds=_durations(data),
        calls=tuple(whole),
    )


def _format(question: Question) -> Json:
    if question.json_form is None:
        return {}
    return {"format": "json" if question.json_form == "json_object" else dict(question.json_schema or {})}


def _calls(message: object) -> tuple[CallPiece, ...]:
    return function_pieces(message.get("tool_calls")) if isinstance(message, dict) else ()


def _tokens(message: object) -> tuple[Channel | None, str]:
    if not isinstance(message, dict):
        return None, ""
    for field, channel in _TEXT_FIELDS:
        text = message.get(field)
        if isinstance(text, str) and text:
            return channel, text
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    names = [function["name"] for function in functions if isinstance(function, dict) and function.get("name")]
    text = "".join(name for name in names if isinstance(name, str))
    return ("tool", text) if text else (None, "")


def _durations(data: Json) -> dict[str, float] | None:
    found = {phase: seconds_of(data.get(field)) for phase, field in _DURATIONS.items()}
    return {phase: seconds for phase, seconds in found.items() if seconds is not None} or None

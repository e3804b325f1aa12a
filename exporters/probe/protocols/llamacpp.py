"""llama.cpp's own API: `POST {url}/completion`; each event says how many tokens there are so far.

https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
"""

from exporters.probe.protocols.base import NO_HEADERS, Channel, Decoder, Question, StreamEvent, Usage, count
from exporters.probe.protocols.decoders import DocumentDecoder, Json, SseDecoder
from exporters.probe.protocols.openai import timings
from inferwatch.config.ends import IN_OPENAI_WORDS

_STOP_TYPES = IN_OPENAI_WORDS["llamacpp"]
# Before `stop_type`, which came at the end of 2024, each had a field of its own.
_STOPPED = {"stopped_eos": "stop", "stopped_word": "stop", "stopped_limit": "length"}


class LlamaCpp:
    """The protocol that `api: llamacpp` names."""

    path = document_path = "/completion"
    models_path = "/v1/models"
    stream_types = ("text/event-stream",)
    headers = NO_HEADERS

    def body(self, model: str, question: Question) -> dict[str, object]:
        """Return the request's JSON; messages become one text, as this API knows no roles."""
        prompt = "\n\n".join(message["content"] for message in question.messages)
        return {
            # A router needs it; a server of one model does not look at it.
            "model": model,
            "prompt": prompt,
            "n_predict": question.max_tokens,
            "temperature": 0,
            "stream": question.stream,
        }

    def decoder(self, stream: bool = True) -> Decoder:
        """Return a decoder for one answer."""
        return SseDecoder(_read) if stream else DocumentDecoder(_read)


def _read(data: Json) -> StreamEvent:
    text = data.get("content")
    channel: Channel | None = "content" if isinstance(text, str) and text else None
    stopped = data.get("stop") is True
    return StreamEvent(
        channel,
        text if isinstance(text, str) else "",
        finish_reason=_finish_reason(data) if stopped else None,
        usage=Usage(count(data.get("tokens_evaluated")), count(data.get("tokens_predicted"))),
        done=stopped,
        server_seconds=timings(data.get("timings")),
    )


def _finish_reason(data: Json) -> str:
    kind = data.get("stop_type")
    if isinstance(kind, str):
        return _STOP_TYPES.get(kind, "other")
    return next((reason for field, reason in _STOPPED.items() if data.get(field) is True), "other")

"""Text Generation Inference's own API: `POST {url}/generate_stream`, and `/generate` for an answer in one piece.

https://huggingface.github.io/text-generation-inference/
"""

from exporters.probe.protocols.base import NO_HEADERS, Channel, Decoder, Question, StreamEvent, Usage, count, identifier
from exporters.probe.protocols.decoders import DocumentDecoder, Json, SseDecoder

# In OpenAI's words, so that `finish_reasons` means the same for every API.
_FINISH_REASONS = {"eos_token": "stop", "stop_sequence": "stop"}


class Tgi:
    """The protocol that `api: tgi` names. The server has one model, so that the request names none."""

    path = "/generate_stream"
    document_path = "/generate"
    models_path = "/v1/models"
    stream_types = ("text/event-stream",)
    headers = NO_HEADERS

    def body(self, model: str, question: Question) -> dict[str, object]:  # noqa: ARG002 - as every protocol
        """Return the request's JSON; messages become one text, as this API knows no roles."""
        prompt = "\n\n".join(message["content"] for message in question.messages)
        # Without sampling it is greedy; a temperature of 0 is refused.
        parameters = {"max_new_tokens": question.max_tokens, "do_sample": False, "details": True}
        return {"inputs": prompt, "parameters": parameters}

    def decoder(self, stream: bool = True) -> Decoder:
        """Return a decoder for one answer."""
        return SseDecoder(_read_event) if stream else DocumentDecoder(_read_document)


def _read_event(data: Json) -> StreamEvent:
    token = data.get("token")
    channel: Channel | None = None
    text: object = ""
    # The end-of-sequence token and its like are generated, and no part of what the user sees.
    if isinstance(token, dict) and token.get("special") is not True:
        text = token.get("text")
    if not isinstance(text, str):
        text = ""
    if text:
        channel = "content"
    reason, usage = _details(data)
    return StreamEvent(channel, text, reason, usage)


def _read_document(data: Json) -> StreamEvent:
    text = data.get("generated_text")
    channel: Channel | None = "content" if isinstance(text, str) and text else None
    reason, usage = _details(data)
    return StreamEvent(channel, text if isinstance(text, str) else "", reason, usage)


def _details(data: Json) -> tuple[str | None, Usage | None]:
    """Return the finish reason and the counts, which come with the last token."""
    details = data.get("details")
    if not isinstance(details, dict):
        return None, None
    prefill = details.get("prefill")
    # Of the prompt a stream tells the length; an answer in one piece lists its tokens if it was asked to.
    prompt = details.get("input_length", len(prefill) if isinstance(prefill, list) else None)
    usage = Usage(count(prompt), count(details.get("generated_tokens")))
    reason = details.get("finish_reason")
    if not reason:
        return None, usage
    named = identifier(reason)
    return _FINISH_REASONS.get(named, named) if named else "other", usage

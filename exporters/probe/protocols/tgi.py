"""Text Generation Inference's own API: `POST {url}/generate_stream`, and `/generate` for an answer in one piece.

https://huggingface.github.io/text-generation-inference/
"""

from exporters.probe.protocols.base import NO_HEADERS, Channel, Decoder, Question, StreamEvent, Usage, count, identifier
from exporters.probe.protocols.decoders import DocumentDecoder, Json, SseDecoder
from inferwatch.config.ends import IN_OPENAI_WORDS

_FINISH_REASONS = IN_OPENAI_WORDS["tgi"]


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
    text = ""
    # The end-of-sequence token and its like are generated, and no part of what the user sees.
    if isinstance(token, dict) and token.get("special") is not True:
        text = _text(token.get("text"))
    if isinstance(data.get("generated_text"), str):
        # It comes with the last token, and holds again what was streamed.
        return _end(data)._replace(channel=_channel(text), text=text)
    return StreamEvent(_channel(text), text)


def _read_document(data: Json) -> StreamEvent:
    text = _text(data.get("generated_text"))
    return _end(data)._replace(channel=_channel(text), text=text)


def _end(data: Json) -> StreamEvent:
    """Return the finish reason and the counts, which come with the last token."""
    details = data.get("details")
    if not isinstance(details, dict):
        # Nobody asked for them; that it is the end was said all the same.
        return StreamEvent(finish_reason="stop", done=True)
    prefill = details.get("prefill")
    # A stream tells the length of the prompt; an answer in one piece may list its tokens.
    prompt = details.get("input_length", len(prefill) if isinstance(prefill, list) else None)
    usage = Usage(count(prompt), count(details.get("generated_tokens")))
    reason = details.get("finish_reason") or "eos_token"
    named = identifier(reason)
    return StreamEvent(finish_reason=_FINISH_REASONS.get(named, named) if named else "other", usage=usage, done=True)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _channel(text: str) -> Channel | None:
    return "content" if text else None

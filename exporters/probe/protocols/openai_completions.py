"""OpenAI's legacy completions: `POST {url}/completions`."""

from exporters.probe.protocols.base import NO_HEADERS, Decoder, Question, StreamEvent
from exporters.probe.protocols.decoders import DocumentDecoder, Json, SseDecoder
from exporters.probe.protocols.openai import MODELS_PATH, STREAM_TYPES, Tokens, options, read


class OpenAiCompletions:
    """The protocol that `api: openai-completions` names."""

    path = document_path = "/completions"
    models_path = MODELS_PATH
    stream_types = STREAM_TYPES
    headers = NO_HEADERS

    def body(self, model: str, question: Question) -> dict[str, object]:
        """Return the request's JSON; messages become one text, as this API knows no roles."""
        prompt = "\n\n".join(message["content"] for message in question.messages)
        return {"model": model, "prompt": prompt, **options(question)}

    def decoder(self, stream: bool = True) -> Decoder:
        """Return a decoder for one answer."""
        return SseDecoder(_read) if stream else DocumentDecoder(_read)


def _read(data: Json) -> StreamEvent:
    return read(data, _tokens)


def _tokens(choice: Json) -> Tokens:
    text = choice.get("text")
    return ("content", text) if isinstance(text, str) and text else (None, "")

"""OpenAI's legacy completions: `POST {url}/completions`."""

from exporters.probe.protocols.base import Channel, Decoder
from exporters.probe.protocols.openai import MEDIA_TYPES, STREAM, OpenAiDecoder
from inferwatch.config import Scenario


class OpenAiCompletions:
    """The protocol that `api: openai-completions` names."""

    path = "/completions"
    media_types = MEDIA_TYPES

    def body(self, model: str, scenario: Scenario) -> dict[str, object]:
        """Return the request's JSON."""
        return {
            "model": model,
            "prompt": scenario.prompt,
            "max_tokens": scenario.max_tokens,
            "temperature": 0,
            **STREAM,
        }

    def decoder(self) -> Decoder:
        """Return a decoder for one answer."""
        return _CompletionsDecoder()


class _CompletionsDecoder(OpenAiDecoder):
    def tokens(self, choice: dict[str, object]) -> tuple[Channel | None, str]:
        text = choice.get("text")
        return ("content", text) if isinstance(text, str) and text else (None, "")

"""The protocols by the name that `api:` holds; a new one is one file and one line here."""

from exporters.probe.protocols.base import Decoder, ProbeProtocol, StreamEvent, Usage
from exporters.probe.protocols.openai_chat import OpenAiChat
from exporters.probe.protocols.openai_completions import OpenAiCompletions

PROTOCOLS: dict[str, ProbeProtocol] = {
    "openai-chat": OpenAiChat(),
    "openai-completions": OpenAiCompletions(),
}

__all__ = ["PROTOCOLS", "Decoder", "ProbeProtocol", "StreamEvent", "Usage"]

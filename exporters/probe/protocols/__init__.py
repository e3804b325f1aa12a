"""The protocols by the name that `api:` holds; a new one is one file and one line here."""

from exporters.probe.protocols.anthropic import Anthropic
from exporters.probe.protocols.base import Decoder, ProbeProtocol, Question, StreamEvent, Usage
from exporters.probe.protocols.llamacpp import LlamaCpp
from exporters.probe.protocols.ollama import Ollama
from exporters.probe.protocols.openai_chat import OpenAiChat
from exporters.probe.protocols.openai_completions import OpenAiCompletions
from exporters.probe.protocols.openai_responses import OpenAiResponses
from exporters.probe.protocols.tgi import Tgi

PROTOCOLS: dict[str, ProbeProtocol] = {
    "openai-chat": OpenAiChat(),
    "openai-completions": OpenAiCompletions(),
    "openai-responses": OpenAiResponses(),
    "ollama": Ollama(),
    "anthropic": Anthropic(),
    "tgi": Tgi(),
    "llamacpp": LlamaCpp(),
}

__all__ = ["PROTOCOLS", "Decoder", "ProbeProtocol", "Question", "StreamEvent", "Usage"]

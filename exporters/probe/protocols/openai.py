"""What OpenAI's chat completions and legacy completions share: `choices`, `usage`, and how the request ends."""

from collections.abc import Callable

from exporters.probe.failures import StreamFormatError
from exporters.probe.protocols.base import (
    CallPiece,
    Channel,
    Question,
    StreamEvent,
    identifier,
    milliseconds,
)
from exporters.probe.protocols.decoders import Json
from exporters.probe.protocols.openai_usage import usage_of
from inferwatch.config.ends import IN_OPENAI_WORDS

Tokens = tuple[Channel | None, str]
STREAM_TYPES = ("text/event-stream",)
MODELS_PATH = "/models"
_FINISH_REASONS = IN_OPENAI_WORDS["openai-chat"]


def options(question: Question) -> dict[str, object]:
    """Return the part of the request that both APIs have."""
    wanted: dict[str, object] = {"max_tokens": question.max_tokens, "temperature": 0, "stream": question.stream}
    if question.stream:
        wanted["stream_options"] = {"include_usage": True}
    return wanted


def no_calls(_: Json) -> tuple[CallPiece, ...]:
    """Find no call of a tool."""
    return ()


def read(
    data: Json, tokens: Callable[[Json], Tokens], calls: Callable[[Json], tuple[CallPiece, ...]] = no_calls
) -> StreamEvent:
    """Return what an event or a whole answer says.

    Args:
        data: Its JSON.
        tokens: Finds the channel and text in a choice.
        calls: Finds the calls of tools in a choice.

    Raises:
        StreamFormatError: If a choice is no object.
    """
    channel: Channel | None = None
    text = ""
    finish_reason = None
    called: tuple[CallPiece, ...] = ()
    choices = data.get("choices")
    # The list is empty in the usage event, and in Azure's first event.
    for choice in choices if isinstance(choices, list) else []:
        if not isinstance(choice, dict):
            raise StreamFormatError("a choice is no JSON object")
        found, piece = tokens(choice)
        channel, text = channel or found, text + piece
        called += calls(choice)
        # Some servers send "" until the answer ends.
        if reason := choice.get("finish_reason"):
            named = identifier(reason)
            finish_reason = _FINISH_REASONS.get(named, named) if named else "other"
    server_seconds = timings(data.get("timings"))
    usage = usage_of(data.get("usage"))
    return StreamEvent(channel, text, finish_reason, usage, server_seconds=server_seconds, calls=called)


def timings(value: object) -> dict[str, float] | None:
    """Return the times that llama.cpp measured itself, by metrics.SERVER_PHASES; None without any."""
    if not isinstance(value, dict):
        return None
    found = {"prefill": milliseconds(value.get("prompt_ms")), "decode": milliseconds(value.get("predicted_ms"))}
    return {phase: seconds for phase, seconds in found.items() if seconds is not None} or None

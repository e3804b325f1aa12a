"""What OpenAI's chat completions and legacy completions share: server-sent events that hold `choices` and `usage`."""

import json
from abc import ABC, abstractmethod

from exporters.probe.failures import StreamFormatError
from exporters.probe.protocols.base import Channel, StreamEvent, Usage, error_identifier, identifier
from exporters.probe.sse import ServerSentEvent, SseSplitter

STREAM = {"stream": True, "stream_options": {"include_usage": True}}
MEDIA_TYPES = ("text/event-stream",)


class OpenAiDecoder(ABC):
    """Splits the bytes into server-sent events and reads each; what holds the tokens is the subclass's."""

    def __init__(self) -> None:
        self._splitter = SseSplitter()

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Return the events that these bytes complete; raises StreamFormatError."""
        return [self._read(event) for event in self._splitter.feed(data)]

    def flush(self) -> list[StreamEvent]:
        """Return what the end of the bytes completes; raises StreamFormatError."""
        return [self._read(event) for event in self._splitter.flush()]

    @abstractmethod
    def tokens(self, choice: dict[str, object]) -> tuple[Channel | None, str]:
        """Return the channel and text of the tokens in a choice; the channel is None without tokens."""

    def _read(self, event: ServerSentEvent) -> StreamEvent:
        if event.data.strip() == b"[DONE]":
            return StreamEvent(done=True)
        try:
            data = json.loads(event.data)
        except (ValueError, RecursionError):
            if event.type == "error":
                return StreamEvent(error="")
            # Named events beside the answer, such as `event: ping`, need hold no JSON.
            if event.type not in ("", "message"):
                return StreamEvent()
            raise StreamFormatError("an event is not JSON") from None
        if not isinstance(data, dict):
            raise StreamFormatError("an event is no JSON object")
        if data.get("error") or event.type == "error" or data.get("object") == "error":
            error = data.get("error")
            return StreamEvent(error=error_identifier(error if isinstance(error, dict) else data))
        return self._answer(data)

    def _answer(self, data: dict[str, object]) -> StreamEvent:
        channel: Channel | None = None
        text = ""
        finish_reason = None
        choices = data.get("choices")
        # The list is empty in the usage event, and in Azure's first event.
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, dict):
                raise StreamFormatError("a choice is no JSON object")
            found, piece = self.tokens(choice)
            channel, text = channel or found, text + piece
            # Some servers send "" until the answer ends.
            if reason := choice.get("finish_reason"):
                finish_reason = identifier(reason) or "other"
        return StreamEvent(channel, text, finish_reason, usage_of(data.get("usage")))


def usage_of(usage: object) -> Usage | None:
    """Return the counts of a `usage` object; a zero or nonsensical count is none."""
    if not isinstance(usage, dict):
        return None
    return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

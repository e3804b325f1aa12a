"""The framings of an answer: server-sent events, JSON lines, or one JSON document; what the JSON says is the reader's.

Each takes a function that reads one JSON object, so that a protocol is its request and that function.
"""

import json
from collections.abc import Callable, Iterable
from typing import TypeVar

from exporters.probe.failures import StreamFormatError
from exporters.probe.protocols.base import StreamEvent, error_identifier, label
from exporters.probe.protocols.ndjson import LineSplitter
from exporters.probe.protocols.sse import ServerSentEvent, SseSplitter

Json = dict[str, object]
Read = Callable[[Json], StreamEvent]
Piece = TypeVar("Piece")
# Types of events that hold the answer itself where a protocol names none.
_OF_THE_ANSWER = ("", "message")


class SseDecoder:
    """Server-sent events that hold JSON objects, and `[DONE]`."""

    def __init__(self, read: Read) -> None:
        self._splitter = SseSplitter()
        self._reader = _Reader(read)

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Return the events that these bytes complete; raises StreamFormatError."""
        return _each(self._splitter.feed(data), self._event)

    def flush(self) -> list[StreamEvent]:
        """Return what the end of the bytes completes; raises StreamFormatError."""
        return _each(self._splitter.flush(), self._event)

    def _event(self, event: ServerSentEvent) -> StreamEvent:
        if event.data.strip() == b"[DONE]":
            return StreamEvent(done=True)
        try:
            # `json` would look for UTF-16 first, which an event stream never is.
            value = json.loads(event.data.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            if event.type not in _OF_THE_ANSWER:
                return _beside(event.type)
            raise StreamFormatError("an event is not JSON") from None
        if not isinstance(value, dict) and event.type not in _OF_THE_ANSWER:
            return _beside(event.type)
        if event.type == "error" and not _is_error(value):
            return StreamEvent(error=error_identifier(value))
        return self._reader.event(value, "an event")


def _beside(kind: str) -> StreamEvent:
    """Return what a named event says that holds no object, as `event: ping` need not."""
    return StreamEvent(error="") if kind == "error" else StreamEvent()


class LinesDecoder:
    """One JSON object a line."""

    def __init__(self, read: Read) -> None:
        self._splitter = LineSplitter()
        self._reader = _Reader(read)

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Return the events that these bytes complete; raises StreamFormatError."""
        return _each(self._splitter.feed(data), self._event)

    def flush(self) -> list[StreamEvent]:
        """Return the last line's event if only its line end is missing; a line that was cut off is no event."""
        events = []
        for line in self._splitter.flush():
            try:
                events.append(self._event(line))
            except StreamFormatError:
                continue
        return events

    def _event(self, line: bytes) -> StreamEvent:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            raise StreamFormatError("a line is not JSON") from None
        return self._reader.event(value, "a line")


class DocumentDecoder:
    """One JSON object that is the whole answer; it makes one event, when it has ended."""

    def __init__(self, read: Read) -> None:
        self._pieces: list[bytes] = []
        self._reader = _Reader(read)

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Keep the bytes; there is no event before the end."""
        self._pieces.append(data)
        return []

    def flush(self) -> list[StreamEvent]:
        """Return the document's event; raises StreamFormatError."""
        document = b"".join(self._pieces)
        if not document.strip():
            return []
        try:
            value = json.loads(document)
        except (ValueError, RecursionError):
            raise StreamFormatError("the answer is not JSON") from None
        return [self._reader.event(value, "the answer")]


def _each(pieces: Iterable[Piece], read: Callable[[Piece], StreamEvent]) -> list[StreamEvent]:
    """Return the events of these pieces, as far as they can be read and no further than the end that the stream tells.

    What a probe finds may not depend on which pieces happen to come in one read.
    """
    events: list[StreamEvent] = []
    for piece in pieces:
        try:
            event = read(piece)
        except StreamFormatError as error:
            error.before = events
            raise
        events.append(event)
        if event.done:
            break
    return events


class _Reader:
    """Reads the objects of one answer; an event names the model and the fingerprint where they are not as before."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._named: tuple[object, object] = (None, None)

    def event(self, value: object, what: str) -> StreamEvent:
        if not isinstance(value, dict):
            raise StreamFormatError(f"{what} is no JSON object")
        if _is_error(value):
            error = value.get("error")
            return StreamEvent(error=error_identifier(error if isinstance(error, dict) else value))
        found = self._read(value)
        named = (_model(value), value.get("system_fingerprint"))
        if named == self._named:
            return found
        self._named = named
        return found._replace(model=label(named[0]), fingerprint=label(named[1]))


def _model(value: Json) -> object:
    """Return what names the model; Anthropic and OpenAI's Responses name it inside what begins the stream."""
    inner = value.get("message") or value.get("response")
    return value.get("model", inner.get("model") if isinstance(inner, dict) else None)


def _is_error(value: Json) -> bool:
    return bool(value.get("error")) or value.get("object") == "error" or value.get("type") == "error"

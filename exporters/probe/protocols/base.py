"""What a protocol is: it writes the request and reads the answer's bytes; timing is not its business."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

Channel = Literal["content", "reasoning", "tool", "refusal"]
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
# No answer has so many tokens; a larger count would spend the budget of a day that it was not part of.
LARGEST_COUNT = 1 << 31
# JSON knows integers that are larger than any float.
LARGEST_NUMBER = 1 << 63
# A server's name for something that becomes a label is at most so long.
LONGEST_LABEL = 128
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


class Usage(NamedTuple):
    """Token counts that the server sent; None where it sent none. Those of reasoning are among the output's."""

    prompt_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What one probe asks, whatever the protocol.

    Attributes:
        messages: Each with `role` (system, user or assistant) and `content`; the last is the user's.
        max_tokens: The limit that the server is asked to keep.
        stream: Whether the answer is to come token by token.
        tools: What the model may call, each with `name`, `description` and `parameters`, a JSON Schema.
        must_call: Whether the model has to call one of them.
        json_form: Whether the answer must be JSON: any object, or one of `json_schema`; None leaves it free.
        json_schema: The schema that the server is asked to keep to.
    """

    messages: tuple[Mapping[str, str], ...]
    max_tokens: int
    stream: bool = True
    tools: tuple[Mapping[str, object], ...] = ()
    must_call: bool = False
    json_form: Literal["json_object", "json_schema"] | None = None
    json_schema: Mapping[str, object] | None = None


class CallPiece(NamedTuple):
    """A piece of a call of a tool; pieces of one call share the place, and None is a whole call of its own.

    Some servers give each call the same place, and tell them apart by their `id` alone; others give none.
    """

    place: int | str | None
    name: str
    arguments: str
    id: str = ""


class StreamEvent(NamedTuple):
    """What one event of a stream says; a server may say several things in one.

    Attributes:
        channel: Where the tokens belong; None if the event carries none (role only, keep-alive, usage).
        text: The tokens' text.
        finish_reason: Why the answer ended, once the server says so.
        usage: Token counts, so far or final.
        error: An identifier of the error that the server reports, "" if it names none; None without an error.
        done: Whether the server says that nothing follows.
        server_seconds: How long the server says that it took, by metrics.SERVER_PHASES.
        model: What the server calls the model that answers.
        fingerprint: What names its build or settings, OpenAI's system_fingerprint.
        calls: What it says of calls of tools.
    """

    channel: Channel | None = None
    text: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    error: str | None = None
    done: bool = False
    server_seconds: Mapping[str, float] | None = None
    model: str | None = None
    fingerprint: str | None = None
    calls: tuple[CallPiece, ...] = ()


class Decoder(Protocol):
    """Turns one answer's bytes into events; holds what is incomplete between calls."""

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Return the events that these bytes complete; raises failures.StreamFormatError."""

    def flush(self) -> list[StreamEvent]:
        """Return what the end of the bytes completes; raises failures.StreamFormatError."""


class ProbeProtocol(Protocol):
    """One way to ask a server for tokens."""

    @property
    def path(self) -> str:
        """Appended to the target's URL."""

    @property
    def document_path(self) -> str:
        """Appended instead where the answer is to come in one piece."""

    @property
    def models_path(self) -> str:
        """Appended to the target's URL, where the server lists its models."""

    @property
    def stream_types(self) -> tuple[str, ...]:
        """What a stream's Content-Type may be; the first is asked for."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that every request needs."""

    def body(self, model: str, question: Question) -> dict[str, object]:
        """Return the request's JSON."""

    def decoder(self, stream: bool = True) -> Decoder:
        """Return a decoder for one answer, which is a stream or one document."""


def label(value: object) -> str | None:
    """Return a server's name for something if it is short and printable enough for a label, else None."""
    return value if isinstance(value, str) and 0 < len(value) <= LONGEST_LABEL and value.isprintable() else None


def identifier(value: object) -> str | None:
    """Return a server's word for something if it is short and plain enough for a log line, else None."""
    return value if isinstance(value, str) and _IDENTIFIER.fullmatch(value) else None


def error_identifier(error: object) -> str:
    """Return the `code` or `type` of an error object if it is a plain identifier, else "".

    The message is left out on purpose: servers quote prompts and keys in it.
    """
    if not isinstance(error, dict):
        return ""
    for key in ("code", "type"):
        value = error.get(key)
        if named := identifier(value):
            return named
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def count(value: object) -> int | None:
    """Return a count of tokens; zero and nonsense are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < LARGEST_COUNT else None


def milliseconds(value: object) -> float | None:
    """Return milliseconds as seconds; what is no number from zero is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < LARGEST_NUMBER:
        return None
    return value / 1e3


def nanoseconds(value: object) -> float | None:
    """Return nanoseconds as seconds; what is no number from zero is none."""
    scaled = milliseconds(value)
    return None if scaled is None else scaled / 1e6

"""What a protocol is: it writes the request and reads the answer's bytes; timing is not its business."""

import re
from dataclasses import dataclass
from typing import Literal, Protocol

from inferwatch.config import Scenario

Channel = Literal["content", "reasoning", "tool", "refusal"]
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts that the server sent; None where it sent none."""

    prompt_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """What one event of a stream says; a server may say several things in one.

    Attributes:
        channel: Where the tokens belong; None if the event carries none (role only, keep-alive, usage).
        text: The tokens' text.
        finish_reason: Why the answer ended, once the server says so.
        usage: Token counts, so far or final.
        error: An identifier of the error that the server reports, "" if it names none; None without an error.
        done: Whether the server says that nothing follows.
    """

    channel: Channel | None = None
    text: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    error: str | None = None
    done: bool = False


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
    def media_types(self) -> tuple[str, ...]:
        """What the answer's Content-Type may be; the first is asked for."""

    def body(self, model: str, scenario: Scenario) -> dict[str, object]:
        """Return the request's JSON."""

    def decoder(self) -> Decoder:
        """Return a decoder for one answer."""


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

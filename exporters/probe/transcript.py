"""What one probe sent and was answered, word for word: with its prompt, its answer and its secrets.

Nothing keeps one but for a person who asks to see it, and only redaction.py prepares it to be shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporters.probe.timeline import Answer


@dataclass
class Exchanged:
    """One request and the beginning of what answered it.

    Attributes:
        method: Of the request, as are `url`, `headers` and `body`.
        status: None without an answer.
        answer_headers: Of the answer.
        answer_body: Of an answer that is no stream, if it was read whole; a stream is in the answers.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    status: int | None = None
    answer_headers: Mapping[str, str] = field(default_factory=dict)
    answer_body: bytes = b""


@dataclass
class Transcript:
    """The requests of one probe in their order, and the events of those that were answered with a stream."""

    exchanges: list[Exchanged] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

"""One request as it was sent and answered, with all that is secret in it; only redaction.py shows it to anybody."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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

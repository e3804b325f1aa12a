"""One GET, as a probe would send it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from exporters.probe.asking.reader import ConnectionLostError, TooLargeError, exchange
from exporters.probe.failures import ProbeError
from exporters.probe.wire.connection import Recorder
from exporters.probe.wire.deadline import Deadline
from exporters.probe.wire.way import DIRECT, Way

TIMEOUT = 10.0
LARGEST = 16 << 20


@dataclass(frozen=True)
class Answer:
    """A status and a whole body."""

    status: int
    media_type: str
    body: bytes
    location: str = ""

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    @property
    def json(self) -> object:
        """The body as JSON, or None."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def is_page(self) -> bool:
        """Whether it is a web page."""
        return self.media_type == "text/html" or self.text.lstrip()[:9].lower() in ("<!doctype", "<html>")


def get(url: str, headers: Mapping[str, str], way: Way = DIRECT) -> Answer:
    """GET an address; redirects are not followed.

    Raises:
        ProbeError: If no whole answer came; the text is a sentence without secrets.
    """
    with Deadline(TIMEOUT) as deadline, exchange("GET", url, headers, None, Recorder(deadline), way) as answer:
        try:
            body = answer.body(LARGEST)
        except TooLargeError:
            raise ProbeError("not_stream", f"the answer is larger than {LARGEST >> 20} MiB") from None
        except ConnectionLostError as error:
            raise ProbeError("connection_lost", f"the connection broke inside the answer: {error}") from None
        # A query may hold a token of a login.
        location = str(answer.response.headers.get("Location") or "").partition("?")[0]
        return Answer(answer.status, answer.media_type, body, location)

"""What a probe sent and was answered, for a person who asked to see it: secrets are blotted out, the rest is quoted.

What is returned may hold control characters of the server; explain.py makes every line printable.
"""

import json
from collections.abc import Callable, Iterable, Mapping

from exporters.probe.asking.timeline import Answer
from exporters.probe.asking.transcript import Transcript
from exporters.probe.redaction import BLOT, Redaction
from exporters.probe.wire.exchanged import Exchanged
from inferwatch.config import Target

# Of a body or a text; a synthetic prompt may have millions.
MOST_CHARACTERS = 4096
# Requests carry their secrets in other headers than these.
_PUBLIC = {"accept", "content-type", "anthropic-version", "user-agent"}
# A session is a secret too, of the server's.
_SESSIONS = {"set-cookie", "set-cookie2", "authorization", "proxy-authorization", "authentication-info"}


class Quoted:
    """Prepares the words of one probe.

    Args:
        target: Whose secrets are hidden.
        transcript: What was sent, with the secrets as they were then.
    """

    def __init__(self, target: Target, transcript: Transcript) -> None:
        headers = [item for exchange in transcript.exchanges for item in exchange.headers.items()]
        self._redaction = Redaction.of(target, (value for name, value in headers if name.lower() not in _PUBLIC))

    def word(self, text: str) -> str:
        """Return words of a server, such as a finish reason, without secrets of ours."""
        return self._redaction.known(text)

    def requests(self, exchanges: Iterable[Exchanged]) -> list[str]:
        """Return the lines that show each request, and what answered it before or instead of a stream."""
        lines: list[str] = []
        for exchange in exchanges:
            lines += ["", f"request: {exchange.method} {self._redaction.text(exchange.url)}"]
            lines += [f"  {line}" for line in self._headers(exchange.headers, hidden=lambda name: name not in _PUBLIC)]
            lines += self._body(exchange.body)
            if exchange.status is None:
                lines.append("answer: none")
                continue
            lines.append(f"answer: {exchange.status}")
            lines += [f"  {line}" for line in self._headers(exchange.answer_headers, hidden=_SESSIONS.__contains__)]
            lines += self._body(exchange.answer_body)
        return lines

    def texts(self, answer: Answer) -> list[str]:
        """Return what follows the kind of each event: its text, quoted. No secret is left that several make up."""
        events = [arrival.event for arrival in answer.arrivals]
        texts = self._redaction.parts([event.text for event in events])
        for channel in {event.channel for event in events}:
            places = [place for place, event in enumerate(events) if event.channel == channel]
            for place, text in zip(places, self._redaction.parts([texts[place] for place in places]), strict=True):
                texts[place] = text
        return [f": {_short(text)!r}" if event.text else "" for event, text in zip(events, texts, strict=True)]

    def _headers(self, headers: Mapping[str, str], hidden: Callable[[str], bool]) -> list[str]:
        return [
            f"{name}: {BLOT if hidden(name.lower()) else self._redaction.text(value)}"
            for name, value in headers.items()
        ]

    def _body(self, body: bytes) -> list[str]:
        if not body:
            return []
        try:
            document = self._redaction.document(json.loads(body))
        except (ValueError, RecursionError):
            return [f"  {_short(self._redaction.text(body.decode('utf-8', 'replace')))!r}"]
        return [f"  {line}" for line in _short(json.dumps(document, indent=2, ensure_ascii=False)).split("\n")]


def _short(text: str) -> str:
    more = len(text) - MOST_CHARACTERS
    return f"{text[:MOST_CHARACTERS]}... and {more} characters more" if more > 0 else text

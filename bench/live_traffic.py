"""A client of a streamed chat API that notes what it saw, so that an engine's own figures can be held against it.

It shares no code with the probe exporter, since that is one of the things that are compared.
"""

import http.client
import json
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class Ask:
    """One request.

    Attributes:
        model: As the server calls it.
        prompt: The user's only message.
        tokens: How many tokens the answer has, whatever the model would rather do.
    """

    model: str
    prompt: str
    tokens: int


@dataclass(frozen=True)
class Answer:
    """What the client saw of one answer; moments are those of `time.time()`.

    Attributes:
        sent: When the request had been sent.
        first: When the first piece of text was there.
        last: When the last one was.
        prompt_tokens: As the server's usage says.
        output_tokens: As the server's usage says.
    """

    sent: float
    first: float
    last: float
    prompt_tokens: int
    output_tokens: int

    @property
    def ttft(self) -> float:
        """Return seconds from the request to the first token."""
        return self.first - self.sent

    @property
    def tpot(self) -> float:
        """Return seconds per token after the first."""
        return (self.last - self.first) / (self.output_tokens - 1)


@dataclass(frozen=True)
class Seen:
    """The answers to several requests."""

    answers: list[Answer]

    @property
    def prompt_tokens(self) -> int:
        """Return the sum over the answers."""
        return sum(one.prompt_tokens for one in self.answers)

    @property
    def output_tokens(self) -> int:
        """Return the sum over the answers."""
        return sum(one.output_tokens for one in self.answers)

    @property
    def ttft(self) -> float:
        """Return the mean, in seconds."""
        return fmean(one.ttft for one in self.answers)

    @property
    def tpot(self) -> float:
        """Return the mean of the answers' means, in seconds."""
        return fmean(one.tpot for one in self.answers)

    @property
    def seconds_per_token(self) -> float:
        """Return the mean over all tokens but the first of each answer: a long answer counts for more."""
        return sum(one.last - one.first for one in self.answers) / sum(one.output_tokens - 1 for one in self.answers)


def ask(url: str, what: Ask) -> Answer:
    """Send one request to the chat API below `url` (what an SDK calls the base URL) and read the answer to its end.

    Raises:
        RuntimeError: If the server refuses, or the stream ends without text or usage.
    """
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=TIMEOUT_SECONDS)
    body = {
        "model": what.model,
        "messages": [{"role": "user", "content": what.prompt}],
        "max_tokens": what.tokens,
        "ignore_eos": True,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    try:
        connection.request(
            "POST", f"{address.path}/chat/completions", json.dumps(body), {"Content-Type": "application/json"}
        )
        sent = time.time()
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"{url} answered {response.status}: {response.read(500)!r}")
        return _read(response, sent)
    finally:
        connection.close()


def _read(response: http.client.HTTPResponse, sent: float) -> Answer:
    first = last = None
    usage = None
    for line in response:
        now = time.time()
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        usage = event.get("usage") or usage
        if any(_has_token(choice) for choice in event.get("choices", ())):
            first, last = first or now, now
    if first is None or last is None or usage is None:
        raise RuntimeError("the stream ended without text or without usage")
    return Answer(sent, first, last, usage["prompt_tokens"], usage["completion_tokens"])


def _has_token(choice: dict[str, Any]) -> bool:
    """Return whether an event brings a token: half a character comes as empty text, and the first event has a role."""
    delta = choice["delta"]
    if "role" in delta or delta.get("content") is None:
        return False
    return bool(delta["content"]) or not choice.get("finish_reason")


def ask_all(url: str, asks: Iterable[Ask], at_a_time: int) -> Seen:
    """Send several requests, so many at a time, and return all answers in the order of the requests."""
    with ThreadPoolExecutor(at_a_time) as pool:
        return Seen(list(pool.map(lambda one: ask(url, one), asks)))

"""Stamped events -> figures and the verdict; pure, so that every definition is tested without a network.

The definitions are those of docs/definitions.md. Times are seconds of one monotonic clock.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Literal, NamedTuple

from exporters.probe.protocols.base import StreamEvent
from exporters.probe.protocols.calls import Call, calls_of

TokenSource = Literal["usage", "chunks"]

# A proxy that collects a stream hands over many events in one read: dstack#4269 shows 64 at once every 16.5 s.
BUFFERED_MIN_TOKENS = 8
BUFFERED_GAP_SECONDS = 0.001
BUFFERED_SHARE = 0.9

# How models mark reasoning where no server takes it out of the content: <think>, <seed:think>, [THINK], ◁think▷ and
# <|channel|>analysis. Some templates open it in the prompt, so that only its end is seen.
_REASONING_BEGINS = re.compile(r"\s*(?:[<\[◁](?:\w+:)?(?:think|thought|reason)|<\|channel)", re.IGNORECASE)
_REASONING_ENDS = re.compile(r"[<\[◁]/(?:\w+:)?(?:think|thought|reason)", re.IGNORECASE)


class Ending(Enum):
    """How the reading of an answer ended."""

    END = "the server ended the stream"
    DONE = "the server said that nothing follows"
    LOST = "the connection broke"
    DEADLINE = "the time was up"
    SILENCE = "no token came for longer than the scenario allows"
    MALFORMED = "the bytes were no stream of this protocol"
    TOO_LARGE = "the answer was larger than allowed"


class Arrival(NamedTuple):
    """An event and when the read that completed it returned; events of one read share the stamp."""

    at: float
    event: StreamEvent


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back on a 200 that is a stream.

    Attributes:
        sent_at: When sending began, on a connection already made.
        ended_at: When the last read returned.
        detail: What the reader has to add to the ending; quotes nothing of the answer.
        streamed: Whether it came token by token; else it is one event at the end, and only E2E is defined.
        kernel: Whether the kernel stamped all of it.
    """

    sent_at: float
    arrivals: Sequence[Arrival]
    ended_at: float
    ending: Ending
    detail: str = ""
    streamed: bool = True
    kernel: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """What an answer amounts to; None is undefined or not reached."""

    outcome: str
    detail: str
    ttfr_seconds: float | None
    ttft_seconds: float | None
    ttfo_seconds: float | None
    tpot_seconds: float | None
    e2e_seconds: float | None
    tail_seconds: float | None
    output_tokens: int | None
    prompt_tokens: int | None
    token_source: TokenSource | None
    finish_reason: str | None
    buffered: bool
    server_seconds: Mapping[str, float]
    response_model: str | None
    fingerprint: str | None


def stamps_taken_late(answer: Answer) -> list[float]:
    """Return the stamps of the figures that are wrong if this process was held up then: when it sent, and tokens.

    The kernel's stamp of a read is right for the last event in it, and too late for those before.
    """
    tokens = [index for index, arrival in enumerate(answer.arrivals) if arrival.event.channel is not None]
    late = [answer.sent_at]
    for index in (tokens[0], tokens[-1]) if tokens else ():
        at = answer.arrivals[index].at
        shared = index + 1 < len(answer.arrivals) and answer.arrivals[index + 1].at == at
        if shared or not answer.kernel:
            late.append(at)
    return late


def text_of(answer: Answer) -> str:
    """Return the text that a user sees: without reasoning and tool calls.

    Two events may share a character, each with an escaped half of it; a half that stays alone is replaced.
    """
    text = "".join(arrival.event.text for arrival in answer.arrivals if arrival.event.channel == "content")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def calls_in(answer: Answer) -> list[Call]:
    """Return the calls of tools in an answer."""
    return calls_of(piece for arrival in answer.arrivals for piece in arrival.event.calls)


def figures(answer: Answer, finish_reasons: Sequence[str], min_output_tokens: int = 2) -> Figures:
    """Return the figures of an answer.

    Args:
        answer: What came back.
        finish_reasons: Those that count as a success.
        min_output_tokens: A shorter answer has no TPOT, as too few gaps make it unsteady.
    """
    tokens = [arrival for arrival in answer.arrivals if arrival.event.channel is not None]
    output, first_event_tokens, source = _output_tokens(answer, tokens)
    # Of what the server kept to itself nothing is known but that it was generated before the rest.
    shown = output - _hidden(answer, tokens, output)
    outcome, detail = _verdict(answer, bool(tokens), finish_reasons)
    streamed = answer.streamed
    buffered = streamed and _is_buffered(tokens, shown)
    steady = not buffered and shown >= min_output_tokens
    last = tokens[-1].at if tokens else None
    return Figures(
        outcome=outcome,
        detail=detail,
        ttfr_seconds=answer.arrivals[0].at - answer.sent_at if streamed and answer.arrivals else None,
        ttft_seconds=tokens[0].at - answer.sent_at if streamed and tokens else None,
        ttfo_seconds=_first_output(answer) if streamed else None,
        tpot_seconds=_tpot(tokens, shown, max(first_event_tokens - (output - shown), 1)) if steady else None,
        e2e_seconds=last - answer.sent_at if last is not None else None,
        tail_seconds=answer.ended_at - last if last is not None else None,
        output_tokens=output or None,
        prompt_tokens=_last([a.event.usage.prompt_tokens for a in answer.arrivals if a.event.usage]),
        token_source=source,
        finish_reason=_finish_reason(answer),
        buffered=buffered,
        server_seconds=next((a.event.server_seconds for a in reversed(answer.arrivals) if a.event.server_seconds), {}),
        response_model=next((a.event.model for a in reversed(answer.arrivals) if a.event.model), None),
        fingerprint=next((a.event.fingerprint for a in reversed(answer.arrivals) if a.event.fingerprint), None),
    )


def _first_output(answer: Answer) -> float | None:
    """Return when the first text came that a user sees: no reasoning and no tool call."""
    seen = (arrival.at for arrival in answer.arrivals if arrival.event.channel in ("content", "refusal"))
    first = next(seen, None)
    return first - answer.sent_at if first is not None else None


def _output_tokens(answer: Answer, tokens: Sequence[Arrival]) -> tuple[int, int, TokenSource | None]:
    """Return all output tokens, those in the first token event, and who counted them."""
    total = _last([a.event.usage.output_tokens for a in answer.arrivals if a.event.usage])
    if total is not None:
        # A server that counts in every event says how many tokens it bundled into the first (aiperf#1279).
        first_usage = tokens[0].event.usage if tokens else None
        return total, (first_usage and first_usage.output_tokens) or 1, "usage"
    # The single event of an answer that was not streamed says nothing about its tokens.
    return (len(tokens), 1, "chunks") if tokens and answer.streamed else (0, 1, None)


def _hidden(answer: Answer, tokens: Sequence[Arrival], output: int) -> int:
    """Return how many of the output tokens are reasoning that the stream did not show."""
    reasoning = _last([a.event.usage.reasoning_tokens for a in answer.arrivals if a.event.usage]) or 0
    if not reasoning or any(token.event.channel == "reasoning" for token in tokens):
        return 0
    text = text_of(answer)
    if _REASONING_BEGINS.match(text) or _REASONING_ENDS.search(text):
        return 0
    # Each token event shows at least one: some servers count as reasoning what they send as content.
    return max(min(reasoning, output - len(tokens)), 0)


def _last(values: Sequence[int | None]) -> int | None:
    return next((value for value in reversed(values) if value is not None), None)


def _tpot(tokens: Sequence[Arrival], output: int, first_event_tokens: int) -> float | None:
    """Return (last - first token event) / (output tokens - those in the first event), if both are above zero."""
    later = output - first_event_tokens
    if later < 1 or len(tokens) < 2:
        return None
    span = tokens[-1].at - tokens[0].at
    return span / later if span > 0 else None


def _is_buffered(tokens: Sequence[Arrival], output: int) -> bool:
    if not tokens or output < BUFFERED_MIN_TOKENS:
        return False
    gaps = [later.at - earlier.at for earlier, later in pairwise(tokens)]
    small = sum(gap < BUFFERED_GAP_SECONDS for gap in gaps)
    return small >= BUFFERED_SHARE * len(gaps)


def _finish_reason(answer: Answer) -> str | None:
    reasons = [arrival.event.finish_reason for arrival in answer.arrivals if arrival.event.finish_reason]
    return reasons[-1] if reasons else None


def _verdict(answer: Answer, any_token: bool, finish_reasons: Sequence[str]) -> tuple[str, str]:
    """Return the outcome and, unless it is a success, a sentence for the person on call."""
    error = next((a.event.error for a in answer.arrivals if a.event.error is not None), None)
    if error is not None:
        named = f" ({error})" if error else ""
        return "stream_error", f"the server answered 200 and then reported an error{named}; its log says why"
    if answer.ending is Ending.DEADLINE:
        if any_token or not answer.streamed:
            return "deadline", f"the answer was not complete when the time was up {answer.detail}"
        return "ttft_timeout", f"no token came before the time was up {answer.detail}"
    if answer.ending is Ending.SILENCE:
        if any_token:
            return "gap_timeout", f"tokens came, and then none for longer than gap_timeout {answer.detail}"
        return "ttft_timeout", f"no token came within ttft_timeout {answer.detail}"
    if answer.ending is Ending.LOST:
        return "connection_lost", f"the connection broke inside the answer: {answer.detail}"
    if answer.ending is Ending.MALFORMED:
        return "stream_error", f"the stream cannot be read: {answer.detail}"
    if answer.ending is Ending.TOO_LARGE:
        return "stream_error", f"the stream did not end: {answer.detail}"
    return _verdict_of_ended(answer, any_token, finish_reasons)


def _verdict_of_ended(answer: Answer, any_token: bool, finish_reasons: Sequence[str]) -> tuple[str, str]:
    if not any_token:
        return "no_tokens", "the answer ended without a token"
    reason = _finish_reason(answer)
    if reason is None:
        return "truncated", "the answer ended without a finish reason: a proxy's timeout, or the server was stopped"
    if reason not in finish_reasons:
        allowed = ", ".join(finish_reasons)
        return "finish_reason", f"the answer ended with {reason!r}; the scenario allows {allowed}"
    return "success", ""

"""One question sent and its answer read: the request, the bytes with their stamps, and how the reading ended."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from exporters.probe.asking.parameters import fitted
from exporters.probe.asking.prompts import question_of
from exporters.probe.asking.reader import DRAIN_SECONDS, ConnectionLostError, Exchange, TooLargeError, exchange
from exporters.probe.asking.silence import silence_of
from exporters.probe.asking.timeline import Answer, Arrival, Ending
from exporters.probe.failures import ProbeError, StreamFormatError, failure_of_body
from exporters.probe.protocols import PROTOCOLS, Decoder, StreamEvent
from exporters.probe.protocols.base import error_identifier
from exporters.probe.wire.connection import Recorder
from exporters.probe.wire.deadline import Deadline
from exporters.probe.wire.way import Way, way_to
from inferwatch.config import Scenario, Target
from inferwatch.config.scenario import Case
from inferwatch.secrets import SecretError, auth_headers

# An event is a few hundred bytes, with log probabilities a few thousand.
LARGEST_FRAME = 1 << 20
LARGEST_PER_TOKEN = 1 << 12
# The pieces of a stream are stamped as they come, and looked at this often: for each token, that would take more time.
HOLD_SECONDS = 0.5
DOCUMENT_TYPE = "application/json"
# What has one of these types is that, unless it is what was asked for; anything else odd is judged by its bytes.
_OTHER_TYPES = {
    "text/html", "application/json", "application/problem+json", "application/xml", "text/xml", "text/event-stream",
}  # fmt: skip


def ask(
    target: Target, scenario: Scenario, case: Case, model: str, recorder: Recorder, refused: Collection[str]
) -> Answer:
    """Send one question of the scenario, without the parameters that the server refuses; return what came back.

    Raises:
        ProbeError: If that is no answer worth timing.
    """
    protocol = PROTOCOLS[target.api]
    try:
        authorization = auth_headers(target.auth)
    except SecretError as error:
        raise ProbeError("auth", str(error)) from None
    types = protocol.stream_types if scenario.stream else (DOCUMENT_TYPE,)
    headers = {"Content-Type": DOCUMENT_TYPE, "Accept": types[0], **protocol.headers, **authorization}
    body = fitted(protocol.body(model, question_of(scenario, case)), refused)
    way = way_to(target)
    path = protocol.path if scenario.stream else protocol.document_path
    with _asked(target.url + path, headers, json.dumps(body).encode(), recorder, scenario.stream, way) as answer:
        answer.check_status(body)
        if answer.media_type in _OTHER_TYPES - {*types}:
            raise _not_the_answer(answer, scenario.stream)
        read = _read(answer, protocol.decoder(scenario.stream), scenario)
    # Without the right type, bytes that hold no event are a document that the server forgot to name.
    no_event = read.ending is Ending.MALFORMED or not read.arrivals
    interrupted = read.ending in (Ending.DEADLINE, Ending.SILENCE)
    if no_event and not interrupted and answer.media_type not in types:
        raise failure_of_body(answer.media_type, None, scenario.stream)
    return read


@contextmanager
def _asked(
    url: str, headers: Mapping[str, str], body: bytes, recorder: Recorder, stream: bool, way: Way
) -> Iterator[Exchange]:
    """Send the request; the silence of a server that was not asked to stream is an answer that came too late."""
    try:
        with exchange("POST", url, headers, body, recorder, way) as answer:
            yield answer
    except ProbeError as error:
        if not stream and error.outcome == "ttft_timeout":
            raise ProbeError("deadline", str(error)) from None
        raise


def _not_the_answer(answer: Exchange, stream: bool) -> ProbeError:
    body = answer.body_json()
    error = body.get("error") if isinstance(body, dict) else None
    return failure_of_body(answer.media_type, error_identifier(error) if error else None, stream)


def _read(answer: Exchange, decoder: Decoder, scenario: Scenario) -> Answer:
    """Read the stream to its end, or to as many bytes as its tokens can need."""
    largest = LARGEST_FRAME + LARGEST_PER_TOKEN * scenario.max_tokens
    deadline = answer.recorder.deadline
    sent_at = answer.recorder.sending_at or 0.0
    ended_at = answer.recorder.headers_at or 0.0
    arrivals: list[Arrival] = []
    ending, detail = Ending.END, ""
    silence = silence_of(scenario, sent_at)
    try:
        for at, events in _events(answer, decoder, largest, min(HOLD_SECONDS, silence.longest_hold)):
            ended_at = at
            if silence.broken_by(at, events):
                ending, detail = Ending.SILENCE, f"({silence.seconds:g} s)"
                break
            arrivals += [Arrival(at, event) for event in events]
            done = silence.hear(at, events)
            deadline.limit(silence.seconds, silence.since)
            if done:
                ending = Ending.DONE
                deadline.tighten(DRAIN_SECONDS)
    except (TooLargeError, StreamFormatError, ConnectionLostError) as error:
        # What happens after the stream said that it is done is no concern of its user.
        if ending is not Ending.DONE:
            ending, detail = _broken(error, deadline)
    kernel = answer.recorder.source is not None and answer.recorder.source.stamped.exact
    return Answer(sent_at, arrivals, ended_at, ending, detail, scenario.stream, kernel)


def _events(
    answer: Exchange, decoder: Decoder, largest: int, hold: float
) -> Iterator[tuple[float, Sequence[StreamEvent]]]:
    """Yield the events of each read with its stamp, and those that the end completes; none after the one that is done.

    Raises as `Exchange.reads` does, and StreamFormatError when the whole events before were given.
    """
    at = answer.recorder.headers_at or 0.0
    done = False
    try:
        for at, data in answer.reads(largest, hold):
            events = [] if done else decoder.feed(data)
            # The decoder gives none behind it.
            done = done or bool(events and events[-1].done)
            yield at, events
        if not done:
            yield at, decoder.flush()
    except StreamFormatError as error:
        yield at, error.before
        raise


def _broken(error: TooLargeError | StreamFormatError | ConnectionLostError, deadline: Deadline) -> tuple[Ending, str]:
    if isinstance(error, ConnectionLostError) and deadline.passed:
        return _interrupted(deadline)
    endings = {TooLargeError: Ending.TOO_LARGE, StreamFormatError: Ending.MALFORMED, ConnectionLostError: Ending.LOST}
    return endings[type(error)], str(error)


def _interrupted(deadline: Deadline) -> tuple[Ending, str]:
    ending = Ending.DEADLINE if deadline.passed_limit is None else Ending.SILENCE
    return ending, f"({deadline.passed_after:g} s)"

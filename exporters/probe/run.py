"""One probe: a request, its stream, its figures and its verdict."""

import json
from dataclasses import dataclass, field

from exporters.probe.connection import Recorder
from exporters.probe.deadline import Deadline
from exporters.probe.failures import ProbeError, StreamFormatError, failure_of_body
from exporters.probe.protocols import PROTOCOLS, Decoder, StreamEvent
from exporters.probe.protocols.base import error_identifier
from exporters.probe.reader import DRAIN_SECONDS, ConnectionLostError, Exchange, TooLargeError, exchange
from exporters.probe.timeline import Answer, Arrival, Ending, Figures, TokenSource, figures
from inferwatch.config import Scenario, Target
from inferwatch.secrets import SecretError, auth_headers

# An event is a few hundred bytes, with log probabilities a few thousand.
LARGEST_FRAME = 1 << 20
LARGEST_PER_TOKEN = 1 << 12
# What a server sends as a page or a document is no stream; anything else odd is judged by its bytes.
_DOCUMENTS = ("text/html", "application/json", "application/problem+json", "application/xml", "text/xml")


@dataclass(frozen=True)
class ProbeResult:
    """What one probe measured; None is not reached or undefined.

    Attributes:
        target: Name of the target.
        scenario: Name of the scenario.
        model_name: The model that was asked; "" if it could not be found out.
        outcome: One of metrics.OUTCOMES.
        detail: A sentence for the person on call; "" on success. Holds no secret, prompt or answer.
        status_code: What the server answered.
        ttft_seconds: Start of sending to the first token event.
        tpot_seconds: Time per output token after the first event.
        e2e_seconds: Start of sending to the last token event.
        ttfr_seconds: Start of sending to the first event of any kind.
        output_tokens: Tokens that the answer holds, also of one that failed half-way.
        prompt_tokens: Tokens of the prompt as the server counted them.
        token_source: Who counted the output tokens: the server ("usage") or we, by chunks.
        finish_reason: Why the answer ended.
        buffered: Whether the stream arrived all at once, so that it has no TPOT.
        phases: Seconds by metrics.PHASES, only of phases that were reached.
        retry_after_seconds: How long a server that refused the probe asked to be left alone.
    """

    target: str
    scenario: str
    model_name: str
    outcome: str
    detail: str
    status_code: int | None = None
    ttft_seconds: float | None = None
    tpot_seconds: float | None = None
    e2e_seconds: float | None = None
    ttfr_seconds: float | None = None
    output_tokens: int | None = None
    prompt_tokens: int | None = None
    token_source: TokenSource | None = None
    finish_reason: str | None = None
    buffered: bool = False
    phases: dict[str, float] = field(default_factory=dict)
    retry_after_seconds: float | None = None


def run_probe(target: Target, scenario_name: str, scenario: Scenario, model: str) -> ProbeResult:
    """Send one probe and return what it measured; a bad server, key or network is a result and not an exception.

    Args:
        target: The endpoint.
        scenario_name: What the result calls the scenario.
        scenario: What to ask; `timeout` must be set.
        model: The model to ask for.
    """

    def failed(error: ProbeError, phases: dict[str, float]) -> ProbeResult:
        detail = str(error)
        return ProbeResult(
            target.name,
            scenario_name,
            model,
            error.outcome,
            detail,
            status_code=error.status_code,
            phases=phases,
            retry_after_seconds=error.retry_after,
        )

    if scenario.timeout is None:
        raise ValueError("the scenario has no timeout; take it from Config.scenarios_of")
    with Deadline(scenario.timeout) as deadline:
        recorder = Recorder(deadline, scenario.ttft_timeout)
        try:
            found = _measure(target, scenario, model, recorder)
        except ProbeError as error:
            return failed(error, recorder.phases)
        except Exception as error:  # noqa: BLE001 - one odd server must not end the prober
            kind = type(error).__name__
            return failed(ProbeError("internal", f"inferwatch failed ({kind}); please report it"), recorder.phases)
    return ProbeResult(
        target=target.name,
        scenario=scenario_name,
        model_name=model,
        outcome=found.outcome,
        detail=found.detail,
        status_code=200,
        ttft_seconds=found.ttft_seconds,
        tpot_seconds=found.tpot_seconds,
        e2e_seconds=found.e2e_seconds,
        ttfr_seconds=found.ttfr_seconds,
        output_tokens=found.output_tokens,
        prompt_tokens=found.prompt_tokens,
        token_source=found.token_source,
        finish_reason=found.finish_reason,
        buffered=found.buffered,
        phases=_phases(recorder, found),
    )


def _measure(target: Target, scenario: Scenario, model: str, recorder: Recorder) -> Figures:
    protocol = PROTOCOLS[target.api]
    try:
        authorization = auth_headers(target.auth)
    except SecretError as error:
        raise ProbeError("auth", str(error)) from None
    headers = {"Content-Type": "application/json", "Accept": protocol.media_types[0], **authorization}
    body = json.dumps(protocol.body(model, scenario)).encode()
    with exchange("POST", target.url + protocol.path, headers, body, recorder) as answer:
        answer.check_status()
        if answer.media_type in _DOCUMENTS:
            raise _not_a_stream(answer)
        read = _read(answer, protocol.decoder(), scenario)
    # Without the right type, bytes that hold no event are a document that the server forgot to name.
    no_event = read.ending is Ending.MALFORMED or not read.arrivals
    if (
        no_event
        and read.ending not in (Ending.DEADLINE, Ending.SILENCE)
        and answer.media_type not in protocol.media_types
    ):
        raise failure_of_body(answer.media_type, None)
    return figures(read, scenario.finish_reasons)


def _not_a_stream(answer: Exchange) -> ProbeError:
    body = answer.body_json()
    error = body.get("error") if isinstance(body, dict) else None
    return failure_of_body(answer.media_type, error_identifier(error) if error else None)


def _read(answer: Exchange, decoder: Decoder, scenario: Scenario) -> Answer:
    """Read the stream to its end, or to as many bytes as its tokens can need: stamp, then parse."""
    largest = LARGEST_FRAME + LARGEST_PER_TOKEN * scenario.max_tokens
    deadline = answer.recorder.deadline
    sent_at = answer.recorder.sending_at or 0.0
    ended_at = answer.recorder.headers_at or 0.0
    arrivals: list[Arrival] = []
    ending, detail = Ending.END, ""
    try:
        for at, data in answer.reads(largest):
            ended_at = at
            if ending is Ending.DONE:
                continue
            events = decoder.feed(data)
            arrivals += [Arrival(at, event) for event in events]
            _move_limit(deadline, at, events, scenario.gap_timeout)
            if any(event.done for event in events):
                ending = Ending.DONE
                deadline.tighten(DRAIN_SECONDS)
        # The deadline's interruption looks like a clean end where the length of the body is not announced.
        if ending is Ending.END and deadline.passed:
            ending, detail = _interrupted(deadline)
        if ending is Ending.END:
            arrivals += [Arrival(ended_at, event) for event in decoder.flush()]
    except TooLargeError as error:
        if ending is not Ending.DONE:
            ending, detail = Ending.TOO_LARGE, str(error)
    except StreamFormatError as error:
        ending, detail = Ending.MALFORMED, str(error)
    except ConnectionLostError as error:
        # What happens after the stream said that it is done is no concern of its user.
        if ending is not Ending.DONE:
            ending, detail = Ending.LOST, str(error)
            if deadline.passed:
                ending, detail = _interrupted(deadline)
    return Answer(sent_at, arrivals, ended_at, ending, detail)


def _move_limit(deadline: Deadline, at: float, events: list[StreamEvent], gap_timeout: float | None) -> None:
    """Wait for the next token from `at` on, if these events hold one; for none after the reason of the end."""
    if any(event.done or event.finish_reason for event in events):
        deadline.limit(None)
    elif any(event.channel is not None for event in events):
        deadline.limit(gap_timeout, at)


def _interrupted(deadline: Deadline) -> tuple[Ending, str]:
    ending = Ending.DEADLINE if deadline.passed_limit is None else Ending.SILENCE
    return ending, f"({deadline.passed_after:g} s)"


def _phases(recorder: Recorder, found: Figures) -> dict[str, float]:
    phases = dict(recorder.phases)
    if found.ttfr_seconds is not None and recorder.sending_at is not None and recorder.headers_at is not None:
        phases["first_event"] = recorder.sending_at + found.ttfr_seconds - recorder.headers_at
    if found.tail_seconds is not None:
        phases["tail"] = found.tail_seconds
    return phases

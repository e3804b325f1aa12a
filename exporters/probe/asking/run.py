"""One probe: a request, its stream, its figures and its verdict."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from exporters.probe.asking.ask import ask
from exporters.probe.asking.lag import MONITOR, tainted
from exporters.probe.asking.parameters import PRIMER_LIMIT
from exporters.probe.asking.prime import Primed, prime
from exporters.probe.asking.prompts import case_of
from exporters.probe.asking.timeline import Answer, Figures, TokenSource, calls_in, figures, stamps_taken_late, text_of
from exporters.probe.asking.transcript import Transcript
from exporters.probe.checks import failed_check
from exporters.probe.failures import ProbeError
from exporters.probe.fault import fault
from exporters.probe.redaction import Redaction
from exporters.probe.wire.connection import Recorder
from exporters.probe.wire.deadline import Deadline
from exporters.probe.wire.session import KeptConnection
from inferwatch.config import Scenario, Target
from inferwatch.config.ends import in_openai_words
from inferwatch.config.scenario import Case


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
        ttfo_seconds: Start of sending to the first text that a user sees, after any reasoning.
        output_tokens: Tokens that the answer holds, also of one that failed half-way.
        prompt_tokens: Tokens of the prompt as the server counted them.
        token_source: Who counted the output tokens: the server ("usage") or we, by chunks.
        finish_reason: Why the answer ended.
        buffered: Whether the stream arrived all at once, so that it has no TPOT.
        phases: Seconds by metrics.PHASES, only of phases that were reached.
        server_seconds: Seconds by metrics.SERVER_PHASES, as the server measured them itself.
        refused: The parameter that the server refused, which the next probe is to leave out or replace.
        response_model: What the answer called the model.
        fingerprint: The answer's system_fingerprint.
        checks_passed: Whether the answer passed the scenario's checks; None if it has none, or failed before them.
        primed: What became of the request that filled the prefix cache before it, where the scenario wants one.
        stale_connection: Whether the server had closed the connection that was to be used again; nothing was measured.
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
    server_seconds: Mapping[str, float] = field(default_factory=dict)
    refused: str | None = None
    response_model: str | None = None
    fingerprint: str | None = None
    checks_passed: bool | None = None
    primed: Primed | None = None
    ttfo_seconds: float | None = None
    stale_connection: bool = False


def run_probe(
    target: Target,
    scenario_name: str,
    scenario: Scenario,
    model: str,
    refused: Collection[str] = (),
    transcript: Transcript | None = None,
    kept: KeptConnection | None = None,
) -> ProbeResult:
    """Send one probe and return what it measured; a bad server, key or network is a result and not an exception.

    Args:
        target: The endpoint.
        scenario_name: What the result calls the scenario.
        scenario: What to ask; `timeout` must be set.
        model: The model to ask for.
        refused: Parameters that the server is known to refuse.
        transcript: Where all that is sent and answered is noted, for a person who asks to see it.
        kept: The connection that is used again; None makes a new one.
    """
    return _without_secrets(_run(target, scenario_name, scenario, model, refused, transcript, kept), target)


def unasked(target: Target, scenario_name: str, error: ProbeError) -> ProbeResult:
    """Return the result of a probe whose model could not be found out."""
    result = ProbeResult(
        target.name,
        scenario_name,
        "",
        error.outcome,
        str(error),
        status_code=error.status_code,
        retry_after_seconds=error.retry_after,
    )
    return _without_secrets(result, target)


def _run(
    target: Target,
    scenario_name: str,
    scenario: Scenario,
    model: str,
    refused: Collection[str],
    transcript: Transcript | None,
    kept: KeptConnection | None,
) -> ProbeResult:
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
            refused=error.refused,
            primed=primed,
            stale_connection=error.stale,
        )

    if scenario.timeout is None:
        raise ValueError("the scenario has no timeout; take it from Config.scenarios_of")
    case = case_of(scenario)
    primed = prime(target, scenario, case, model, refused, transcript, kept) if scenario.primed else None
    if primed is not None and primed.asked_for_patience is not None:
        return failed(primed.asked_for_patience, {})
    with Deadline(scenario.timeout) as deadline:
        recorder = Recorder(deadline, scenario.ttft_timeout if scenario.stream else None)
        recorder.exchanges = transcript.exchanges if transcript is not None else None
        recorder.kept = kept
        try:
            answer = ask(target, scenario, case, model, recorder, refused)
            if transcript is not None:
                transcript.answers.append(answer)
            found = figures(answer, in_openai_words(target.api, scenario.ends), scenario.min_output_tokens)
            judged = found.outcome == "success" and case.checks is not None
            found = _checked(found, answer, scenario, case)
            passed = found.outcome == "success" if judged else None
            refuses = PRIMER_LIMIT if found.outcome == "success" and primed and primed.limit_refused else None
            found = _tainted(found, answer, primed)
        except ProbeError as error:
            return failed(error, recorder.phases)
        except Exception as error:  # noqa: BLE001 - one odd server must not end the prober
            return failed(fault(error), recorder.phases)
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
        server_seconds=found.server_seconds,
        response_model=found.response_model,
        refused=refuses,
        fingerprint=found.fingerprint,
        checks_passed=passed,
        ttfo_seconds=found.ttfo_seconds,
        primed=primed,
    )


def _without_secrets(result: ProbeResult, target: Target) -> ProbeResult:
    """Return the result without our key in its words, which become labels and lines of a log: a server may echo it."""
    if target.auth is None and target.proxy_auth_file is None:
        return result
    redaction = Redaction.of(target)

    def known(word: str | None) -> str | None:
        return redaction.known(word) if word else word

    return replace(
        result,
        detail=redaction.known(result.detail),
        finish_reason=known(result.finish_reason),
        response_model=known(result.response_model),
        fingerprint=known(result.fingerprint),
    )


def _checked(found: Figures, answer: Answer, scenario: Scenario, case: Case) -> Figures:
    """Return the figures, with the outcome `check_failed` if the answer is whole and yet not what it must be."""
    if found.outcome != "success" or case.checks is None:
        return found
    call = case.checks.tool_call
    wanted = scenario.schema_of_call(call) if call is not None else None
    wrong = failed_check(text_of(answer), case.checks, calls_in(answer), wanted)
    return found if wrong is None else replace(found, outcome="check_failed", detail=wrong)


def _tainted(found: Figures, answer: Answer, primed: Primed | None) -> Figures:
    """Return the figures, with the outcome `tainted` for a success that was stamped too late, or was not warm."""
    if found.outcome != "success":
        return found
    if primed is not None and primed.problem:
        detail = f"the answer was good, but the prompt may not have been cached: {primed.problem}"
        return replace(found, outcome="tainted", detail=detail)
    reason = tainted(MONITOR, stamps_taken_late(answer), found.ttft_seconds or found.e2e_seconds)
    return found if reason is None else replace(found, outcome="tainted", detail=reason)


def _phases(recorder: Recorder, found: Figures) -> dict[str, float]:
    phases = dict(recorder.phases)
    if found.ttfr_seconds is not None and recorder.sending_at is not None and recorder.headers_at is not None:
        phases["first_event"] = recorder.sending_at + found.ttfr_seconds - recorder.headers_at
    if found.tail_seconds is not None:
        phases["tail"] = found.tail_seconds
    return phases

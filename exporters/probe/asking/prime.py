"""The request before a warm probe: the same prompt, answered with a token or a few, so that its prefix is cached.

It is no probe: it has no outcome and is in no histogram. Its tokens are counted and charged like a probe's.
"""

from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus

from exporters.probe.asking.ask import ask
from exporters.probe.asking.parameters import PRIMER_LIMIT, REFUSING
from exporters.probe.asking.timeline import Answer, TokenSource, figures
from exporters.probe.asking.transcript import Transcript
from exporters.probe.failures import ProbeError
from exporters.probe.fault import fault
from exporters.probe.wire.connection import Recorder
from exporters.probe.wire.deadline import Deadline
from exporters.probe.wire.session import KeptConnection
from inferwatch.config import Scenario, Target
from inferwatch.config.reckoning import primer_tokens
from inferwatch.config.scenario import Case

# The least that models take which want the limit as max_completion_tokens: they may reason before they answer.
REASONING_PRIMER_TOKENS = 16
# How an answer ended says nothing about the cache, which holds the prompt once there is an answer.
_FILLED = ("success", "finish_reason", "no_tokens")


@dataclass(frozen=True, slots=True)
class Primed:
    """What became of the request.

    Attributes:
        problem: Why the prompt may not be cached; "" if it is.
        sent: Whether the request came to the server.
        limit: The most tokens that its answer might have.
        status_code: What the server answered.
        prompt_tokens: As the server counted them.
        output_tokens: As the server counted them, or by chunks.
        token_source: Who counted.
        asked_for_patience: The server's refusal, if it said Retry-After: the probe is not sent then.
    """

    problem: str = ""
    sent: bool = True
    limit: int = 1
    status_code: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    token_source: TokenSource | None = None
    asked_for_patience: ProbeError | None = None

    @property
    def limit_refused(self) -> bool:
        """Whether the server refused it, which of what a probe asks differs in the limit alone."""
        return self.status_code in REFUSING


def limit_of(target: Target, scenario: Scenario, refused: Collection[str]) -> int:
    """Return the most tokens that the answer may have: the fewest that the server is not known to refuse."""
    if PRIMER_LIMIT in refused:
        return scenario.max_tokens
    return max(primer_tokens(target), REASONING_PRIMER_TOKENS if "max_tokens" in refused else 0)


def prime(
    target: Target,
    scenario: Scenario,
    case: Case,
    model: str,
    refused: Collection[str],
    transcript: Transcript | None,
    kept: KeptConnection | None,
) -> Primed:
    """Ask what the probe after it will ask, within the same limits of time; the arguments are those of `run_probe`.

    Never raises for what a server does.
    """
    limit = limit_of(target, scenario, refused)
    short = scenario.model_copy(update={"max_tokens": limit})
    with Deadline(scenario.timeout or 60.0) as deadline:
        recorder = Recorder(deadline, scenario.ttft_timeout if scenario.stream else None)
        recorder.exchanges = transcript.exchanges if transcript is not None else None
        recorder.kept = kept
        try:
            return _primed(ask(target, short, case, model, recorder, refused), scenario, limit)
        except ProbeError as error:
            sent = "send" in recorder.phases and not error.stale
            patience = error if error.retry_after is not None else None
            return Primed(f"{error.outcome}: {error}", sent, limit, error.status_code, asked_for_patience=patience)
        except Exception as error:  # noqa: BLE001 - one odd server must not end the prober
            return Primed(f"internal: {fault(error)}", "send" in recorder.phases, limit)


def _primed(answer: Answer, scenario: Scenario, limit: int) -> Primed:
    found = figures(answer, scenario.ends)
    problem = "" if found.outcome in _FILLED else f"{found.outcome}: {found.detail}"
    return Primed(problem, True, limit, HTTPStatus.OK, found.prompt_tokens, found.output_tokens, found.token_source)

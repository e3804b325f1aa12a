"""One probe explained event by event: when each came and what kind it was.

It quotes no prompt, answer or secret, unless a person asked to see what was said; then secrets alone are blotted out.
"""

from collections.abc import Sequence

from exporters.probe.asking.run import ProbeResult
from exporters.probe.asking.timeline import Answer
from exporters.probe.asking.transcript import Transcript
from exporters.probe.protocols import StreamEvent
from exporters.probe.protocols.base import identifier
from exporters.probe.views.quoted import Quoted
from inferwatch.config import Scenario
from inferwatch.printable import printable

# A page for a person; the figures below hold all events.
MOST_EVENTS = 2000


def explained(result: ProbeResult, scenario: Scenario, transcript: Transcript, quoted: Quoted, *, quotes: bool) -> str:
    """Return the text of `/probe?debug=1`; nothing in it can steer a terminal.

    Args:
        result: What was measured.
        scenario: What was asked.
        transcript: What was sent and answered.
        quoted: Hides the secrets of the target.
        quotes: Whether to show prompts and answers.
    """
    lines = [
        f"target {result.target}, scenario {result.scenario}, model {result.model_name or 'not known'}",
        f"asked for at most {scenario.max_tokens} tokens, with a deadline of {scenario.timeout or 0:g} s",
        "",
        "phases, in seconds",
        *(f"  {seconds:10.4f}  {phase}" for phase, seconds in result.phases.items()),
    ]
    if quotes:
        lines += quoted.requests(transcript.exchanges)
    for number, answer in enumerate(transcript.answers, 1):
        which = f" of answer {number}" if len(transcript.answers) > 1 else ""
        lines += ["", f"events{which}, in seconds since sending began", *_events(answer, quoted, quotes)]
    lines += ["", f"outcome {result.outcome}" + (f": {result.detail}" if result.detail else ""), *_figures(result)]
    # A server names its model, media type, place of a redirect and more; none of it is trusted with a terminal.
    return "".join(f"{printable(line)}\n" for line in lines)


def _events(answer: Answer, quoted: Quoted, quotes: bool) -> list[str]:
    shown = answer.arrivals[:MOST_EVENTS]
    said: Sequence[str] = quoted.texts(answer)[:MOST_EVENTS] if quotes else [""] * len(shown)
    lines = [
        f"  {arrival.at - answer.sent_at:10.4f}  {quoted.word(kind(arrival.event))}{text}"
        for arrival, text in zip(shown, said, strict=True)
    ]
    if len(answer.arrivals) > len(shown):
        lines.append(f"  and {len(answer.arrivals) - len(shown)} more")
    return [*lines, f"  {answer.ended_at - answer.sent_at:10.4f}  the end: {answer.ending.value}"]


def _figures(result: ProbeResult) -> list[str]:
    figures = {
        "status": result.status_code,
        "finish reason": result.finish_reason,
        "TTFR": result.ttfr_seconds,
        "TTFT": result.ttft_seconds,
        "TTFO": result.ttfo_seconds,
        "TPOT": result.tpot_seconds,
        "E2E": result.e2e_seconds,
        "prompt tokens": result.prompt_tokens,
        "output tokens": result.output_tokens,
        "tokens counted by": result.token_source,
    }
    lines = [f"  {name}: {_number(value)}" for name, value in figures.items() if value is not None]
    if result.checks_passed is not None:
        lines.append(f"  checks: {'passed' if result.checks_passed else 'failed'}")
    if (primed := result.primed) is not None:
        lines.append(f"  asked before, to fill the cache: {primed.problem or 'answered'}")
    if result.stale_connection:
        lines.append("  nothing was measured; the next probe makes a new connection")
    if result.buffered:
        lines.append("  the stream arrived all at once, so it has no TPOT")
    return lines


def kind(event: StreamEvent) -> str:
    """Return what an event says, in words that quote nothing of it."""
    said = [f"{event.channel} ({len(event.text)} characters)"] if event.channel is not None else []
    if event.finish_reason:
        said.append(f"finish reason {identifier(event.finish_reason) or 'that is no plain word'}")
    if event.usage is not None:
        counts = {"prompt": event.usage.prompt_tokens, "output": event.usage.output_tokens}
        said.append("usage " + ", ".join(f"{name} {count}" for name, count in counts.items() if count is not None))
    if event.error is not None:
        said.append(f"error {event.error}".strip())
    if event.done:
        said.append("done")
    return ", ".join(said) or "nothing of an answer (role, keep-alive or empty)"


def _number(value: float | str) -> str:
    return f"{value:.4f} s" if isinstance(value, float) else str(value)

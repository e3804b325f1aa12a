"""One probe explained event by event: when each came and what kind it was; no prompt, answer or secret."""

from collections.abc import Sequence

from exporters.probe.protocols import StreamEvent
from exporters.probe.protocols.base import identifier
from exporters.probe.run import ProbeResult
from exporters.probe.timeline import Answer
from inferwatch.config import Scenario

# A page for a person; the figures below hold all events.
MOST_EVENTS = 2000


def explained(result: ProbeResult, scenario: Scenario, answers: Sequence[Answer]) -> str:
    """Return the text of `/probe?debug=1`; one answer for each request of the probe that had one."""
    lines = [
        f"target {result.target}, scenario {result.scenario}, model {result.model_name or 'not known'}",
        f"asked for at most {scenario.max_tokens} tokens, with a deadline of {scenario.timeout or 0:g} s",
        "",
        "phases, in seconds",
        *(f"  {seconds:10.4f}  {phase}" for phase, seconds in result.phases.items()),
    ]
    for number, answer in enumerate(answers, 1):
        which = f" of answer {number}" if len(answers) > 1 else ""
        lines += ["", f"events{which}, in seconds since sending began"]
        shown = answer.arrivals[:MOST_EVENTS]
        lines += [f"  {arrival.at - answer.sent_at:10.4f}  {kind(arrival.event)}" for arrival in shown]
        if len(answer.arrivals) > len(shown):
            lines.append(f"  and {len(answer.arrivals) - len(shown)} more")
        lines.append(f"  {answer.ended_at - answer.sent_at:10.4f}  the end: {answer.ending.value}")
    lines += ["", f"outcome {result.outcome}" + (f": {result.detail}" if result.detail else "")]
    figures = {
        "status": result.status_code,
        "TTFR": result.ttfr_seconds,
        "TTFT": result.ttft_seconds,
        "TPOT": result.tpot_seconds,
        "E2E": result.e2e_seconds,
        "prompt tokens": result.prompt_tokens,
        "output tokens": result.output_tokens,
    }
    lines += [f"  {name}: {_number(value)}" for name, value in figures.items() if value is not None]
    if result.token_source:
        lines.append(f"  tokens counted by: {result.token_source}")
    if result.buffered:
        lines.append("  the stream arrived all at once, so it has no TPOT")
    return "\n".join(lines) + "\n"


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


def _number(value: float) -> str:
    return f"{value:.4f} s" if isinstance(value, float) else str(value)

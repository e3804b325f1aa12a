"""The page's first sentences: what an engineer who was just woken needs to know."""

from dataclasses import dataclass
from typing import Literal

from stack.page.figures import plural
from stack.page.gpus import GpuRow
from stack.page.prometheus_api import Alert
from stack.page.snapshot import Snapshot, View

Tone = Literal["good", "warn", "bad", "unknown"]
HELD_BACK = ("silenced", "inhibited")
SEVERITIES = ("page", "ticket", "info")
_WORST: tuple[Tone, ...] = ("good", "unknown", "warn", "bad")
HIGHEST_NAMED = 3
PROMETHEUS = "prometheus"


@dataclass(frozen=True)
class Verdict:
    """The sentences and how worrying the worst of them is."""

    tone: Tone
    text: str


def firing(alerts: tuple[Alert, ...]) -> list[Alert]:
    """Return the alerts that fire or are held back, the most urgent and oldest first, without the Watchdog."""
    shown = [one for one in alerts if one.state in ("firing", *HELD_BACK) and one.severity != "none"]
    return sorted(shown, key=lambda one: (one.state != "firing", _rank(one), one.since or 0.0))


def judge(view: View) -> Verdict:
    """Say in plain words how things stand."""
    snapshot = view.present
    if snapshot is None:
        parts: list[tuple[Tone, str]] = [("unknown", "Prometheus has not been read yet.")]
        if view.snapshot is not None:
            parts = [("bad", "This page could not read Prometheus for more than a minute.")]
    elif snapshot.unreachable:
        parts = [("bad", "Prometheus does not answer, so targets and GPUs are unknown.")]
        if snapshot.alerts is not None:
            parts.append(_alerts(snapshot.alerts))
    else:
        parts = [_targets(snapshot), _alerts(snapshot.alerts or ()), _gpus(snapshot.gpus)]
    parts += _services(view)
    tone = max((tone for tone, _ in parts), key=_WORST.index)
    return Verdict(tone, " ".join(text for _, text in parts if text))


def _targets(snapshot: Snapshot) -> tuple[Tone, str]:
    rows = snapshot.targets
    if not rows:
        return "unknown", "No target is configured." if snapshot.configured else "Which targets there are is not known."
    failing = [row.name for row in rows if row.state == "fails"]
    unknown = [row.name for row in rows if row.state == "unknown"]
    waiting = [row.name for row in rows if row.state == "waits"]
    sentences = []
    if failing:
        sentences.append(f"{_fail(len(failing), len(rows))}: {_names(failing)}.")
    if unknown:
        sentences.append(f"The state of {_names(unknown)} is unknown.")
    if waiting:
        verb = "waits" if len(waiting) == 1 else "wait"
        sentences.append(f"{_of(len(waiting), len(rows))} {verb} for the first probe.")
    if not sentences:
        all_of_them = "The target answers" if len(rows) == 1 else f"All {len(rows)} targets answer"
        return "good", f"{all_of_them}."
    return ("bad" if failing else "unknown"), " ".join(sentences)


def _alerts(alerts: tuple[Alert, ...]) -> tuple[Tone, str]:
    shown = firing(alerts)
    loud = [one for one in shown if one.state == "firing"]
    tail = ""
    for state in HELD_BACK:
        held = sum(one.state == state for one in shown)
        tail += f" {plural(held, 'alert')} {'is' if held == 1 else 'are'} {state}." if held else ""
    pending = sum(one.state == "pending" and one.severity != "none" for one in alerts)
    if not loud:
        soon = f", {pending} {'is' if pending == 1 else 'are'} pending" if pending else ""
        return "good", f"No alert fires{soon}.{tail}"
    tone: Tone = "bad" if any(one.severity == "page" for one in loud) else "warn"
    if all(one.severity == "info" for one in loud):
        tone = "good"
    return tone, f"{plural(len(loud), 'alert')} {'fires' if len(loud) == 1 else 'fire'}." + tail


def _gpus(rows: tuple[GpuRow, ...]) -> tuple[Tone, str]:
    lost = sum(bool(row.trouble and row.index) for row in rows)
    silent = [row.node for row in rows if not row.index]
    sentences = [f"{plural(lost, 'GPU')} cannot be read."] if lost else []
    if silent:
        exporters, verb = ("exporter", "does") if len(silent) == 1 else ("exporters", "do")
        sentences.append(f"The GPU {exporters} of {_names(silent)} {verb} not answer.")
    return ("warn" if sentences else "good"), " ".join(sentences)


def _services(view: View) -> list[tuple[Tone, str]]:
    said = PROMETHEUS if view.present and view.present.unreachable else None
    down = [one.title for one in view.services if one.state == "down" and one.name != said]
    parts: list[tuple[Tone, str]] = []
    if down:
        parts.append(("warn", f"{_names(down)} {'is' if len(down) == 1 else 'are'} down."))
    if view.troubles:
        parts.append(("warn", ""))
    return parts


def _fail(count: int, total: int) -> str:
    if count == total > 1:
        return f"None of the {total} targets answers"
    return f"{_of(count, total)} {'does' if count == 1 else 'do'} not answer"


def _of(count: int, total: int) -> str:
    if total == 1:
        return "The target"
    if count == total:
        return f"All {total} targets"
    return f"{count} of {total} targets"


def _names(names: list[str]) -> str:
    if len(names) > HIGHEST_NAMED:
        return ", ".join(names[:HIGHEST_NAMED]) + f" and {len(names) - HIGHEST_NAMED} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _rank(alert: Alert) -> int:
    return SEVERITIES.index(alert.severity) if alert.severity in SEVERITIES else len(SEVERITIES)

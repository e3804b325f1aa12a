"""The page's row of each target, from fresh samples."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from exporters.probe import metrics as probe
from prometheus import vocabulary as words
from stack.page.figures import NO_FIGURE, Figure, age, finite, number, plural, seconds
from stack.page.prometheus_api import Sample, Samples

TargetState = Literal["answers", "fails", "waits", "unknown"]
URGENCY: tuple[TargetState, ...] = ("fails", "unknown", "waits", "answers")
UP = "up"
ENGINE_JOB = "llm-engine"
# A probe that is due and did not end within this long after its interval is overdue (the default timeout is 60 s).
GRACE = 90.0
FAILURES = f'increase({probe.REQUESTS}{{outcome!="success"}}[5m]) > 0'
KNOWN_LATELY = f"max by (target) (last_over_time({probe.TARGET_INFO}[15m]))"

NAMES = (
    probe.TARGET_INFO, probe.LAST_SUCCESS, probe.LAST_RUN_TIMESTAMP, probe.INTERVAL, probe.LAST_TTFT, probe.LAST_TPOT,
    probe.TARGET_COST_PER_HOUR, probe.TARGET_PRICE_MISSING, probe.TARGET_SLO, UP,
    words.REQUESTS_WAITING, words.OUTPUT_TOKENS_RATE, words.COST_PER_MTOK_OUTPUT,
    *(words.quantile(latency, "p95", prefix) for latency in ("ttft", "tpot") for prefix in ("llm", "llm_probe")),
)  # fmt: skip


@dataclass(frozen=True)
class ProbeRun:
    """The last probe of one scenario; `interval` is 0 where it is not known."""

    scenario: str
    success: bool
    ended: float
    interval: float
    ttft: float | None
    tpot: float | None

    def overdue(self, now: float) -> bool:
        """Whether the next probe should have ended by now."""
        return now - self.ended > self.interval + GRACE


@dataclass(frozen=True)
class TargetRow:
    """What the page shows of one target."""

    name: str
    state: TargetState
    reason: str = ""
    ttft: Figure = NO_FIGURE
    tpot: Figure = NO_FIGURE
    queue: Figure = NO_FIGURE
    tokens_per_second: Figure = NO_FIGURE
    cost: Figure = NO_FIGURE
    last_probe: Figure = NO_FIGURE
    engine: Figure = NO_FIGURE


def read_targets(samples: Samples, failures: Iterable[Sample], known_lately: Iterable[Sample]) -> list[TargetRow]:
    """Return one row per configured target, the troubled ones first.

    Args:
        samples: Fresh samples of `NAMES`.
        failures: The answer to `FAILURES`.
        known_lately: The answer to `KNOWN_LATELY`; used when no configuration is fresh, so that targets stay visible.
    """
    fresh = {one.labels.get("target", "") for one in samples.of(probe.TARGET_INFO)}
    if not fresh:
        reason = "the probe exporter is not scraped, so nothing is known now"
        return [
            TargetRow(name, "unknown", reason) for name in sorted(one.labels.get("target", "") for one in known_lately)
        ]
    outcomes: dict[str, set[str]] = defaultdict(set)
    for one in failures:
        outcomes[one.labels.get("target", "")].add(one.labels.get("outcome", ""))
    rows = [_row(name, samples, sorted(outcomes[name])) for name in fresh]
    return sorted(rows, key=lambda row: (URGENCY.index(row.state), row.name))


def _row(name: str, samples: Samples, outcomes: list[str]) -> TargetRow:
    runs = _last_runs(name, samples)
    state, reason = _state(runs, outcomes, samples.at)
    return TargetRow(
        name,
        state,
        reason,
        ttft=_latency(name, "ttft", samples, [(run, run.ttft) for run in runs]),
        tpot=_latency(name, "tpot", samples, [(run, run.tpot) for run in runs]),
        queue=_total(samples.of(words.REQUESTS_WAITING, target=name)),
        tokens_per_second=_total(samples.of(words.OUTPUT_TOKENS_RATE, target=name)),
        cost=_cost(name, samples),
        last_probe=_last_probe(runs, samples.at),
        engine=_engine(name, samples),
    )


def _last_runs(name: str, samples: Samples) -> list[ProbeRun]:
    """Return each scenario's last run; where two probers watch the target, the later one's."""
    latest: dict[str, tuple[float, dict[str, str]]] = {}
    for one in samples.of(probe.LAST_RUN_TIMESTAMP, target=name):
        scenario = one.labels.get("scenario", "")
        if scenario not in latest or one.value > latest[scenario][0]:
            latest[scenario] = (one.value, one.labels)
    runs = []
    for scenario, (ended, labels) in sorted(latest.items()):
        success = _one(samples.of(probe.LAST_SUCCESS, **labels))
        if success is not None:
            interval = _one(samples.of(probe.INTERVAL, **labels)) or 0.0
            ttft, tpot = _one(samples.of(probe.LAST_TTFT, **labels)), _one(samples.of(probe.LAST_TPOT, **labels))
            runs.append(ProbeRun(scenario, success == 1, ended, interval, ttft, tpot))
    return runs


def _state(runs: list[ProbeRun], outcomes: list[str], now: float) -> tuple[TargetState, str]:
    if not runs:
        return "waits", "no probe has ended yet"
    overdue = [run for run in runs if run.overdue(now)]
    if overdue:
        oldest = min(overdue, key=lambda run: run.ended)
        return "unknown", (
            f"probe {oldest.scenario} last ended {age(now - oldest.ended)} ago, "
            f"though it is due every {age(oldest.interval)}"
        )
    failed = [run for run in runs if not run.success]
    if not failed:
        return "answers", ""
    scenarios = ", ".join(run.scenario for run in failed)
    why = f" ({', '.join(outcomes)} in the last 5 minutes)" if outcomes else ""
    return "fails", f"the last probe failed: {scenarios}{why}"


def _latency(name: str, latency: str, samples: Samples, last: list[tuple[ProbeRun, float | None]]) -> Figure:
    """Prefer what users get (the engine's own), then the probes' quantile, then the last probe's value."""
    objective = _one(samples.of(probe.TARGET_SLO, target=name, slo=latency, quantile="0.95"))
    for prefix, source in (("llm", "p95, engine"), ("llm_probe", "p95, probes")):
        found = finite(samples.of(words.quantile(latency, "p95", prefix), target=name))
        if found:
            value = max(one.value for one in found)
            over = objective is not None and value > objective
            limit = f", over {seconds(objective)}" if objective is not None and over else ""
            return Figure(seconds(value), source + limit, bad=over)
    values = [value for run, value in last if value is not None and not run.overdue(samples.at)]
    return Figure(seconds(max(values)), "last probe") if values else NO_FIGURE


def _total(samples: list[Sample]) -> Figure:
    found = finite(samples)
    return Figure(number(sum(one.value for one in found))) if found else NO_FIGURE


def _cost(name: str, samples: Samples) -> Figure:
    per_hour = finite(samples.of(probe.TARGET_COST_PER_HOUR, target=name))
    configured = max(per_hour, key=lambda one: one.value, default=None)
    currency = configured.labels.get("currency", "") if configured else ""
    costs = finite(samples.of(words.COST_PER_MTOK_OUTPUT, target=name))
    if costs:
        dearest = max(costs, key=lambda one: one.value)
        unit = dearest.labels.get("currency") or currency
        return Figure(f"{number(dearest.value)} {unit}".strip(), "users' output, last hour")
    if configured:
        return Figure(source=f"too few tokens; {number(configured.value)} {currency} an hour")
    if any(one.value == 1 for one in samples.of(probe.TARGET_PRICE_MISSING, target=name)):
        return Figure(source="no price configured")
    return NO_FIGURE


def _last_probe(runs: list[ProbeRun], now: float) -> Figure:
    if not runs:
        return NO_FIGURE
    last = max(runs, key=lambda run: run.ended)
    return Figure("succeeded" if last.success else "failed", f"{last.scenario}, {age(now - last.ended)} ago")


def _engine(name: str, samples: Samples) -> Figure:
    scrapes = samples.of(UP, target=name, job=ENGINE_JOB)
    if not scrapes:
        return Figure(source="no metrics scraped")
    up = sum(one.value == 1 for one in scrapes)
    if up == len(scrapes):
        return Figure("scraped", "" if up == 1 else plural(up, "replica"))
    return Figure("not scraped" if up == 0 else "partly", f"{up} of {len(scrapes)} replicas answer")


def _one(samples: list[Sample]) -> float | None:
    found = finite(samples)
    return found[0].value if found else None

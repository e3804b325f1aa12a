"""What is kept of the probes of one target and scenario, and a copy of it for `/metrics`."""

import copy
import threading
from dataclasses import dataclass, field

from exporters.probe import metrics
from exporters.probe.asking.run import ProbeResult
from exporters.probe.metrics.histogram import Histogram as Histogram
from exporters.probe.metrics.ladders import FINE, Ladders
from inferwatch.config import Slo
from inferwatch.config.objectives import SLO_NAMES


@dataclass
class Series:
    """The numbers of one target and scenario; `last` is None before the first probe ended."""

    ttft: Histogram
    tpot: Histogram
    e2e: Histogram
    started: int = 0
    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(metrics.OUTCOMES, 0))
    skipped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(metrics.SKIP_REASONS, 0))
    finished: dict[str, int] = field(default_factory=lambda: dict.fromkeys(metrics.FINISH_REASONS, 0))
    slo_good: int = 0
    output_tokens: int = 0
    prompt_tokens: int = 0
    primed: int | None = None
    phase_sums: dict[str, float] = field(default_factory=dict)
    phase_counts: dict[str, int] = field(default_factory=dict)
    token_source: str | None = None
    buffered: bool | None = None
    last: ProbeResult | None = None
    last_ended_at: float | None = None

    @classmethod
    def empty(cls, ladders: Ladders) -> "Series":
        """Return the series of which nothing was counted."""
        return cls(*_histograms(ladders))


class Record:
    """The series of one target and scenario, safe for several threads; a lock is held for arithmetic only."""

    def __init__(self, model_name: str, ladders: Ladders = FINE) -> None:
        self._lock = threading.Lock()
        self._ladders = ladders
        self._series = Series.empty(ladders)
        self._model_name = model_name
        self._version = 0

    @property
    def model_name(self) -> str:
        """The label of the series; "" until the model is known."""
        return self._model_name

    @property
    def version(self) -> int:
        """Another number after every change of the series."""
        return self._version

    @property
    def last(self) -> ProbeResult | None:
        """The last probe that ended; None before the first."""
        with self._lock:
            return self._series.last

    def name_model(self, model_name: str) -> None:
        """Say which model the series belong to.

        The first name is given to what was counted without one; another name is another thing, counted from 0.
        """
        with self._lock:
            if self._model_name == model_name:
                return
            if self._model_name not in ("", model_name):
                started = Series.empty(self._ladders)
                started.started = self._series.started - sum(self._series.outcomes.values())
                self._series = started
            self._model_name = model_name
            self._version += 1

    def use(self, ladders: Ladders) -> None:
        """Observe in these buckets from now on; histograms with other bounds start at 0, the rest goes on."""
        with self._lock:
            if ladders != self._ladders:
                self._ladders = ladders
                self._series.ttft, self._series.tpot, self._series.e2e = _histograms(ladders)
                self._version += 1

    def start(self) -> None:
        """Count a probe that starts."""
        with self._lock:
            self._series.started += 1
            self._version += 1

    def skip(self, reason: str) -> None:
        """Count a probe that was due and is not started; `reason` is one of metrics.SKIP_REASONS."""
        with self._lock:
            self._series.skipped[reason] += 1
            self._version += 1

    def end(self, result: ProbeResult, slo: Slo, now: float) -> None:
        """Count a probe that ended, `now` in Unix time."""
        with self._lock:
            series = self._series
            series.outcomes[result.outcome] += 1
            _add_tokens(series, result)
            if result.finish_reason:
                known = result.finish_reason in metrics.FINISH_REASONS
                series.finished[result.finish_reason if known else "other"] += 1
            for phase, seconds in result.phases.items():
                series.phase_sums[phase] = series.phase_sums.get(phase, 0.0) + seconds
                series.phase_counts[phase] = series.phase_counts.get(phase, 0) + 1
            series.last, series.last_ended_at = result, now
            series.token_source = result.token_source or series.token_source
            if result.outcome == "success":
                _observe(series, result)
                series.slo_good += meets(slo, result)
                series.buffered = result.buffered
            self._version += 1

    def spend(self, result: ProbeResult) -> None:
        """Count only the tokens of a probe outside the schedule, so that they are not taken for users' traffic."""
        with self._lock:
            _add_tokens(self._series, result)
            self._version += 1

    def snapshot(self) -> tuple[str, Series]:
        """Return the model's name and a copy of the series."""
        with self._lock:
            series = copy.copy(self._series)
            series.ttft, series.tpot, series.e2e = (_copy(h) for h in (series.ttft, series.tpot, series.e2e))
            series.outcomes, series.skipped = dict(series.outcomes), dict(series.skipped)
            series.finished = dict(series.finished)
            series.phase_sums, series.phase_counts = dict(series.phase_sums), dict(series.phase_counts)
            return self._model_name, series


def _histograms(ladders: Ladders) -> tuple[Histogram, Histogram, Histogram]:
    return Histogram.empty(ladders.ttft), Histogram.empty(ladders.tpot), Histogram.empty(ladders.e2e)


def _copy(histogram: Histogram) -> Histogram:
    return Histogram(histogram.bounds, list(histogram.counts), histogram.total)


def _add_tokens(series: Series, result: ProbeResult) -> None:
    series.output_tokens += result.output_tokens or 0
    series.prompt_tokens += result.prompt_tokens or 0
    if (primed := result.primed) is not None:
        series.output_tokens += primed.output_tokens or 0
        series.prompt_tokens += primed.prompt_tokens or 0
        series.primed = (series.primed or 0) + (not primed.problem)


def _observe(series: Series, result: ProbeResult) -> None:
    for histogram, seconds in (
        (series.ttft, result.ttft_seconds),
        (series.tpot, result.tpot_seconds),
        (series.e2e, result.e2e_seconds),
    ):
        if seconds is not None:
            histogram.observe(seconds)


def meets(slo: Slo, result: ProbeResult) -> bool:
    """Say whether a successful probe met every objective; one whose figure is undefined is judged by the others."""
    measured = {"ttft": result.ttft_seconds, "tpot": result.tpot_seconds, "e2e": result.e2e_seconds}
    for name in SLO_NAMES:
        objective, seconds = getattr(slo, name), measured[name]
        if objective is not None and seconds is not None and seconds > objective.threshold:
            return False
    return True

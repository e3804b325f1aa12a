"""The series of what was measured, made anew at each scrape from the records, so that they go with their target."""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from exporters.probe import metrics
from exporters.probe.key import Key
from exporters.probe.series.families import Families, Samples
from exporters.probe.series.record import Record, Series


class MeasuredCollector(Collector):
    """Yields `llm_probe_*`.

    Args:
        records: Returns the records by (target, scenario).
        intervals: Returns the configured intervals in seconds by the same keys.
        inflight: Returns how many probes run now.
    """

    def __init__(
        self,
        records: Callable[[], Mapping[Key, Record]],
        intervals: Callable[[], Mapping[Key, float]],
        inflight: Callable[[], int],
    ) -> None:
        self._records = records
        self._intervals = intervals
        self._inflight = inflight

    def collect(self) -> Iterable[Family]:
        """Return one family per metric."""
        families = Families()
        families.add(metrics.INFLIGHT, {}, self._inflight())
        intervals = self._intervals()
        for (target, scenario), record in self._records().items():
            add_record(families, (target, scenario), record, intervals.get((target, scenario)))
        return families.all()


def add_record(samples: Samples, key: Key, record: Record, interval: float | None) -> None:
    """Add the series of one target and scenario, which is probed every so many seconds."""
    model_name, series = record.snapshot()
    labels = {"target": key[0], "scenario": key[1], "model_name": model_name}
    if interval is not None:
        samples.add(metrics.INTERVAL, labels, interval)
    _add_counted(samples, labels, series)
    _add_last(samples, labels, series)


def _add_counted(families: Samples, labels: dict[str, str], series: Series) -> None:
    families.add_histogram(metrics.TTFT, labels, series.ttft)
    families.add_histogram(metrics.TPOT, labels, series.tpot)
    families.add_histogram(metrics.E2E, labels, series.e2e)
    families.add(metrics.STARTED, labels, series.started)
    for outcome, count in series.outcomes.items():
        families.add(metrics.REQUESTS, {**labels, "outcome": outcome}, count)
    for reason, count in series.skipped.items():
        families.add(metrics.SKIPPED, {**labels, "reason": reason}, count)
    for reason, count in series.finished.items():
        families.add(metrics.FINISHED, {**labels, "reason": reason}, count)
    families.add(metrics.SLO_GOOD, labels, series.slo_good)
    if series.primed is not None:
        families.add(metrics.PRIMED, labels, series.primed)
    families.add(metrics.OUTPUT_TOKENS, labels, series.output_tokens)
    families.add(metrics.PROMPT_TOKENS, labels, series.prompt_tokens)
    for phase in metrics.PHASES:
        # A phase that was never reached is absent, e.g. TLS on plain HTTP.
        if phase in series.phase_sums:
            values = (series.phase_sums[phase], float(series.phase_counts[phase]))
            families.add_summary(metrics.PHASE_SUM, metrics.PHASE_COUNT, {**labels, "phase": phase}, values)


def _add_last(families: Samples, labels: dict[str, str], series: Series) -> None:
    if series.token_source is not None:
        families.add(metrics.TOKEN_SOURCE_INFO, {**labels, "source": series.token_source}, 1)
    if series.buffered is not None:
        families.add(metrics.STREAM_BUFFERED, labels, series.buffered)
    last = series.last
    if last is None or series.last_ended_at is None:
        return
    succeeded = last.outcome == "success"
    families.add(metrics.LAST_RUN_TIMESTAMP, labels, series.last_ended_at)
    # The answer of a tainted probe was good; only its times are not to be trusted.
    families.add(metrics.LAST_SUCCESS, labels, succeeded or last.outcome == "tainted")
    figures = {
        metrics.LAST_TTFT: last.ttft_seconds,
        metrics.LAST_TTFO: last.ttfo_seconds,
        metrics.LAST_TPOT: last.tpot_seconds,
        metrics.LAST_E2E: last.e2e_seconds,
        metrics.LAST_OUTPUT_TOKENS: last.output_tokens,
    }
    for metric, value in figures.items():
        if succeeded and value is not None:
            families.add(metric, labels, value)
    for phase, seconds in last.server_seconds.items() if succeeded else ():
        families.add(metrics.LAST_SERVER, {**labels, "phase": phase}, seconds)

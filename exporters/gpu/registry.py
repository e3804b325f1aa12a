"""What `/metrics` shows: the fleet as it is at this moment, so that a series vanishes with what it describes."""

import platform
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from exporters.gpu import metrics
from exporters.gpu.fleet import Fleet
from exporters.gpu.page import Page, Point, family
from exporters.gpu.report import GpuReport
from exporters.gpu.xid import catalogue
from exporters.gpu.xid.incidents import Incidents, Key, Source, precreated
from inferwatch import __version__


class FleetCollector(Collector):
    """Yields one family for each metric of which the fleet has a value."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def collect(self) -> Iterable[Family]:
        """Yield the families in the order in which `metrics` declares them."""
        families: dict[str, Family] = {}
        for metric, labels, value in points(self._fleet):
            if metric.name not in families:
                families[metric.name] = family(metric)
            families[metric.name].add_metric(labels, value)  # type: ignore[attr-defined]
        return [families[metric.name] for metric in metrics.ALL if metric.name in families]

    def describe(self) -> Iterable[Family]:
        """Yield what may ever be there, so that registering does not collect."""
        # Of the web configuration another collector tells.
        return [family(metric) for metric in metrics.ALL if metric is not metrics.WEB_CONFIG_RELOAD_SUCCESSFUL]


def registry(fleet: Fleet, *others: Collector) -> CollectorRegistry:
    """Return a registry of the fleet and of these; `name[]` finds each of their series."""
    made = CollectorRegistry(auto_describe=True)
    for collector in (FleetCollector(fleet), *others):
        made.register(collector)
    return made


def page(fleet: Fleet, *others: Collector) -> Page:
    """Return the application that shows the fleet, this process and these."""
    collectors = (ProcessCollector(registry=None), *others)
    beside = CollectorRegistry()
    for collector in collectors:
        beside.register(collector)
    return Page(lambda: points(fleet), metrics.ALL, beside, registry(fleet, *collectors))


def points(fleet: Fleet) -> Iterator[Point]:
    """Yield what there is to show of the fleet now."""
    reports = fleet.report()
    yield from _exporter(fleet)
    yield from _collectors(reports)
    sources = fleet.xids.sources()
    yield from _xid_meanings(sources)
    counted = fleet.xids.incidents.counts()
    for report in reports:
        yield from _health(report)
        yield from _xids(report, counted, sources)
        yield from _incidents(report, fleet.xids.incidents)
        yield from _samples(report)


def _exporter(fleet: Fleet) -> Iterator[Point]:
    yield metrics.BUILD_INFO, (__version__, platform.python_version(), _nvidia_ml_py()), 1
    yield metrics.SIMULATED, (), float(fleet.simulated)
    yield metrics.NVML_UP, (), float(fleet.nvml_up)
    yield metrics.NVML_INIT_ERROR_CODE, (), fleet.init_error_code
    yield metrics.NVML_REINITS, (), fleet.reinits
    yield metrics.RELEASED, (), float(fleet.released)
    for source, count in fleet.expected.counts().items():
        yield metrics.DEVICES_EXPECTED, (source,), count
    asleep = fleet.expected.asleep()
    if asleep is not None:
        yield metrics.SUSPENDED_DEVICES, (), asleep
    yield metrics.REJECTED_VALUES, (), fleet.tally.rejected()
    for (function, code), count in sorted(fleet.tally.errors().items()):
        yield metrics.NVML_ERRORS, (function, code), count
    versions = fleet.versions
    if versions is not None:
        yield metrics.DEVICES, (), fleet.devices()
        yield metrics.DRIVER_INFO, (versions.driver, versions.cuda, versions.nvml), 1


def _collectors(reports: list[GpuReport]) -> Iterator[Point]:
    runs = [run for report in reports if report.snapshot for run in report.snapshot.runs.items()]
    for name in dict.fromkeys(name for name, _ in runs):
        own = [run for of, run in runs if of == name]
        yield metrics.COLLECTOR_SUCCESS, (name,), float(all(run.success for run in own))
        yield metrics.COLLECTOR_DURATION, (name,), sum(run.seconds for run in own)


def _health(report: GpuReport) -> Iterator[Point]:
    gpu = (report.gpu, report.uuid)
    if report.suspended is not None:
        yield metrics.SUSPENDED, gpu, float(report.suspended)
    if report.suspended:
        return
    yield metrics.UP, gpu, float(report.up)
    yield metrics.STUCK, gpu, float(report.stuck)
    yield metrics.LAST_ERROR_CODE, gpu, report.last_error_code
    if report.last_success is not None:
        yield metrics.LAST_COLLECTION_TIMESTAMP, gpu, report.last_success
    if report.seconds is not None:
        yield metrics.COLLECTION_DURATION, gpu, report.seconds


def _xid_meanings(sources: dict[Source, bool]) -> Iterator[Point]:
    for source, live in sources.items():
        yield metrics.XID_SOURCE, (source,), float(live)
    for xid, meaning in catalogue.MEANINGS.items():
        yield metrics.XID_INFO, (str(xid), meaning.severity, meaning.action), 1


def _xids(report: GpuReport, counted: dict[Key, int], sources: dict[Source, bool]) -> Iterator[Point]:
    """Yield what was counted on this GPU, which outlives the GPU, and 0 for the rest of the important ones."""
    if not report.uuid:
        return
    found = dict.fromkeys(precreated(report.uuid, sources), 0) | {
        key: count for key, count in counted.items() if key.uuid == report.uuid
    }
    for key, count in sorted(found.items()):
        yield metrics.XID_ERRORS, (report.gpu, report.uuid, str(key.xid), key.source), count


def _incidents(report: GpuReport, incidents: Incidents) -> Iterator[Point]:
    gpu = (report.gpu, report.uuid)
    for xid, at in incidents.last(report.uuid).items():
        yield metrics.XID_LAST_TIMESTAMP, (*gpu, str(xid)), at
    for what, count in incidents.events(report.uuid).items():
        yield metrics.EVENTS, (*gpu, what), count


def _samples(report: GpuReport) -> Iterator[Point]:
    gpu = (report.gpu, report.uuid)
    if report.snapshot:
        for sample in report.snapshot.samples:
            yield sample.metric, (*gpu, *sample.labels), sample.value
    if report.totals:
        for reason, seconds in report.totals.seconds.items():
            yield metrics.CLOCKS_EVENT_SAMPLED_SECONDS, (*gpu, reason), seconds
        for reason, episodes in report.totals.episodes.items():
            yield metrics.CLOCKS_EVENT_EPISODES, (*gpu, reason), episodes


@cache
def _nvidia_ml_py() -> str:
    # Looking it up reads the folder of packages.
    try:
        return version("nvidia-ml-py")
    except PackageNotFoundError:
        return ""

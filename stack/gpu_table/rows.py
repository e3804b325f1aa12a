"""What the table and the JSON show of one GPU, from the exporter's report of it."""

from dataclasses import dataclass

from exporters.gpu import metrics
from exporters.gpu.collection import Sample
from exporters.gpu.report import GpuReport
from inferwatch.metric import Metric

ERRORS = {15: "it is lost (fallen off the bus)", 16: "it needs a reset"}


@dataclass(frozen=True)
class GpuRow:
    """One GPU at one moment; a value that it does not tell is None.

    Attributes:
        gpu: The index.
        uuid: The identity; empty for a GPU that was lost before it ever told.
        name: The product.
        simulated: Whether it is made up.
        up: Whether its last collection succeeded; every value is None unless it is.
        trouble: Why it is not up, as a sentence; empty when it is.
        utilization_ratio: From 0 to 1.
        throttle_reasons: What holds the clocks down now.
        harmful_seconds: For how long the longest of the harmful reasons did so since the command was started.
    """

    gpu: str
    uuid: str
    name: str
    simulated: bool
    up: bool
    trouble: str = ""
    utilization_ratio: float | None = None
    memory_used_bytes: float | None = None
    memory_total_bytes: float | None = None
    temperature_celsius: float | None = None
    power_usage_watts: float | None = None
    power_limit_watts: float | None = None
    clock_sm_hertz: float | None = None
    throttle_reasons: tuple[str, ...] = ()
    harmful_seconds: float | None = None

    @property
    def harmed(self) -> bool:
        """Whether a reason that costs latency holds the clocks down now."""
        return not set(metrics.HARMFUL_REASONS).isdisjoint(self.throttle_reasons)


def row(report: GpuReport, simulated: bool) -> GpuRow:
    """Return the row of a report."""
    if report.snapshot is None:
        return GpuRow(report.gpu, report.uuid, "", simulated, up=False, trouble=_trouble(report))
    samples = report.snapshot.samples
    totals = report.totals.seconds if report.totals else {}
    harmful = [totals[reason] for reason in metrics.HARMFUL_REASONS if reason in totals]
    return GpuRow(
        report.gpu,
        report.uuid,
        next((name for one in _of(samples, metrics.INFO) if (name := _label(one, "name"))), ""),
        simulated,
        up=True,
        utilization_ratio=_value(samples, metrics.UTILIZATION),
        memory_used_bytes=_value(samples, metrics.MEMORY_USED),
        memory_total_bytes=_value(samples, metrics.MEMORY_TOTAL),
        temperature_celsius=_value(samples, metrics.TEMPERATURE),
        power_usage_watts=_value(samples, metrics.POWER_USAGE),
        power_limit_watts=_value(samples, metrics.POWER_LIMIT_ENFORCED),
        clock_sm_hertz=_value(samples, metrics.CLOCK, domain="sm"),
        throttle_reasons=tuple(
            _label(one, "reason") for one in _of(samples, metrics.CLOCKS_EVENT_ACTIVE) if one.value == 1
        ),
        harmful_seconds=max(harmful, default=None),
    )


def _trouble(report: GpuReport) -> str:
    if report.suspended:
        return "it sleeps, and is not woken to be asked"
    if report.stuck:
        return "a call on it hangs inside the driver"
    code = report.last_error_code
    return f"{ERRORS.get(code, 'it cannot be read')} (NVML code {code})" if code else "it cannot be read"


def _of(samples: tuple[Sample, ...], metric: Metric) -> list[Sample]:
    return [one for one in samples if one.metric.name == metric.name]


def _label(sample: Sample, name: str) -> str:
    """Return a label's value; a sample holds those after `gpu` and `uuid`."""
    own = sample.metric.labels[len(metrics.GPU) :]
    return dict(zip(own, sample.labels, strict=False)).get(name, "")


def _value(samples: tuple[Sample, ...], metric: Metric, **labels: str) -> float | None:
    found = [one for one in _of(samples, metric) if all(_label(one, name) == text for name, text in labels.items())]
    return found[0].value if found else None

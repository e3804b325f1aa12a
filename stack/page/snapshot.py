"""Everything that the page shows, read at one moment."""

from dataclasses import dataclass, replace

from exporters.probe import metrics as probe
from stack.page import gpus, targets
from stack.page.gpus import GpuRow, gpu_sentence, read_gpus
from stack.page.health import ServiceState
from stack.page.notifications import Kept
from stack.page.prometheus_api import Alert, Prometheus, Samples, UnreachableError, alertmanager_alerts
from stack.page.targets import TargetRow, read_targets

OLD_AFTER = 60.0


@dataclass(frozen=True)
class Snapshot:
    """What was read, and what could not be.

    Attributes:
        at: When, by this machine's clock.
        unreachable: Why Prometheus said nothing, or empty.
        configured: Whether the probe exporter's configuration was read, so that no targets means none.
        alerts: Firing, pending and held-back ones; None where neither Prometheus nor Alertmanager answers.
        gpu_note: Why no GPU is shown, or that they are simulated.
        configuration: A sentence when inferwatch.yml is not in force as it stands.
    """

    at: float
    unreachable: str = ""
    configured: bool = False
    targets: tuple[TargetRow, ...] = ()
    gpus: tuple[GpuRow, ...] = ()
    alerts: tuple[Alert, ...] | None = None
    gpu_note: str = ""
    configuration: str = ""


@dataclass(frozen=True)
class View:
    """A snapshot with what changes between two of them; what the page is drawn from."""

    now: float
    snapshot: Snapshot | None
    services: tuple[ServiceState, ...] = ()
    notifications: tuple[Kept, ...] = ()
    notifications_in_memory: bool = False
    troubles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    grafana_url: str | None = None

    @property
    def present(self) -> Snapshot | None:
        """The snapshot, unless it is too old to be shown as the present."""
        if self.snapshot is None or self.now - self.snapshot.at > OLD_AFTER:
            return None
        return self.snapshot


def read_snapshot(prometheus: Prometheus, alertmanager_url: str | None, now: float) -> Snapshot:
    """Ask Prometheus, and Alertmanager for alerts where Prometheus gives none."""
    try:
        samples = prometheus.fresh(str(name) for name in (*targets.NAMES, *gpus.NAMES, *CONFIGURATION))
        failures, _ = prometheus.query(targets.FAILURES)
        lately, _ = prometheus.query(targets.KNOWN_LATELY)
        alerts = prometheus.alerts()
    except UnreachableError as error:
        return _without_prometheus(str(error), alertmanager_url, now)
    found = read_gpus(samples)
    snapshot = Snapshot(
        now,
        configured=bool(samples.of(probe.TARGETS_CONFIGURED)),
        targets=tuple(read_targets(samples, failures, lately)),
        gpus=tuple(found),
        alerts=tuple(alerts),
        gpu_note=gpu_sentence(samples, found),
        configuration=_configuration(samples),
    )
    return _with_held_back(snapshot, alertmanager_url)


CONFIGURATION = (probe.TARGETS_CONFIGURED, probe.CONFIG_RELOAD_SUCCESSFUL, probe.CONFIG_FROM_STATE)


def _configuration(samples: Samples) -> str:
    if any(one.value == 1 for one in samples.of(probe.CONFIG_FROM_STATE)):
        return "inferwatch.yml has an error, so the saved copy of the last good one is in force: run inferwatch check."
    if any(one.value == 0 for one in samples.of(probe.CONFIG_RELOAD_SUCCESSFUL)):
        return "inferwatch.yml has an error, so the last good one stays in force: run inferwatch check."
    return ""


def _without_prometheus(reason: str, alertmanager_url: str | None, now: float) -> Snapshot:
    alerts = None
    if alertmanager_url is not None:
        try:
            alerts = tuple(alertmanager_alerts(alertmanager_url))
        except UnreachableError as error:
            reason = f"{reason}; {error}"
    return Snapshot(now, unreachable=reason, alerts=alerts)


def _with_held_back(snapshot: Snapshot, alertmanager_url: str | None) -> Snapshot:
    """Mark the alerts that Alertmanager holds back, since Prometheus knows of no silence and no inhibition."""
    if alertmanager_url is None or not snapshot.alerts:
        return snapshot
    try:
        held = [one for one in alertmanager_alerts(alertmanager_url) if one.state in ("silenced", "inhibited")]
    except UnreachableError:
        # The list of services says that Alertmanager does not answer.
        return snapshot
    return replace(snapshot, alerts=tuple(replace(one, state=_state(one, held)) for one in snapshot.alerts))


def _state(alert: Alert, held: list[Alert]) -> str:
    # Alertmanager's copy has Prometheus's external labels beside the alert's own.
    return next((one.state for one in held if alert.labels.items() <= one.labels.items()), alert.state)

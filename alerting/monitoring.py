"""Whether the monitoring itself works. These read metrics of Prometheus and Alertmanager, whose names are theirs."""

from alerting.alert import Alert
from exporters.gpu import metrics as gpu
from exporters.probe import metrics as probe
from inferwatch.config.consistency import OWN_NODE

RULE_FAILURES = "prometheus_rule_evaluation_failures_total"
STORAGE_FAILURES = (
    "prometheus_tsdb_wal_writes_failed_total",
    "prometheus_tsdb_compactions_failed_total",
    "prometheus_tsdb_head_truncations_failed_total",
    "prometheus_tsdb_checkpoint_creations_failed_total",
)
OWN_RELOADS = (
    str(probe.CONFIG_RELOAD_SUCCESSFUL),
    str(probe.WEB_CONFIG_RELOAD_SUCCESSFUL),
    str(gpu.WEB_CONFIG_RELOAD_SUCCESSFUL),
)
FOREIGN_RELOADS = (
    "prometheus_config_last_reload_successful",
    "alertmanager_config_last_reload_successful",
)
FOREIGN_METRICS = ("up", "ALERTS", RULE_FAILURES, *STORAGE_FAILURES, *FOREIGN_RELOADS)


def _exporter_down() -> Alert:
    own = f'up{{job="gpu", node="{OWN_NODE}"}}'
    return Alert(
        "ExporterDown",
        # The stack's own GPU exporter is always listed, and rightly down on a machine without one: it counts only if
        # it was up within a day.
        expr=(
            'up{job="probe"} == 0\nor\nabsent(up{job="probe"})\nor\n'
            f'up{{job="gpu", node!="{OWN_NODE}"}} == 0\nor\n({own} == 0 and max_over_time({own}[1d]) == 1)'
        ),
        wait="2m",
        severity="ticket",
        family="monitoring",
        summary="The {{ $labels.job }} exporter {{ $labels.instance }} does not answer",
        description=(
            "Prometheus has failed to scrape the {{ $labels.job }} exporter{{ if $labels.instance }} "
            "{{ $labels.instance }}{{ end }}{{ if $labels.node }} of {{ $labels.node }}{{ end }} for two minutes. "
            '{{ if eq $labels.job "probe" }}Probes, objectives and prices are unknown{{ else }}GPUs there are not '
            "watched{{ end }} until it is back. Likely: the process ended, or the network between them is cut."
        ),
    )


def _rule_failures() -> Alert:
    return Alert(
        "PrometheusRuleFailures",
        expr=f"sum by (rule_group) (increase({RULE_FAILURES}[5m])) > 0",
        wait="1m",
        severity="ticket",
        family="monitoring",
        summary="Prometheus cannot evaluate rules",
        description=(
            "{{ $value | humanize }} evaluations of {{ $labels.rule_group }} failed in the last five minutes: alerts "
            "of this group may be silent. Likely: two series where a rule expects one; "
            "the log of Prometheus names them."
        ),
    )


def _not_storing() -> Alert:
    failures = "\nor\n".join(f"increase({name}[15m]) > 0" for name in STORAGE_FAILURES)
    return Alert(
        "PrometheusNotStoring",
        # On a full disk no sample is stored, not even of the failure: what remains to be seen is that the newest sample
        # is old, and after five minutes that there is none.
        expr=(
            'time() - max by (job) (timestamp(up{job="prometheus"})) > 90\nor\n'
            f'absent(up{{job="prometheus"}})\nor\n{failures}'
        ),
        wait="1m",
        severity="page",
        family="monitoring",
        summary="Prometheus does not store what it scrapes",
        description=(
            "Prometheus has failed to write its data, or has stored nothing for 90 seconds: every other alert is "
            "blind and may look resolved. Likely: the disk under its data folder is full, read-only or broken."
        ),
    )


def _reload_failed() -> Alert:
    return Alert(
        "ConfigReloadFailed",
        expr="\nor\n".join(f"{name} == 0" for name in (*OWN_RELOADS, *FOREIGN_RELOADS)),
        wait="1m",
        severity="ticket",
        family="monitoring",
        summary="The configuration of {{ $labels.job }} is broken",
        description=(
            "{{ $labels.job }} {{ $labels.instance }} could not read its configuration: the last good one stays in "
            "force and newer edits have no effect. Its log names the line."
        ),
    )


def _watchdog() -> Alert:
    return Alert(
        "Watchdog",
        expr="vector(1)",
        severity="none",
        family="monitoring",
        summary="Alerting works",
        description=(
            "This alert always fires. Send it to a service that calls when it stops coming: then Prometheus, "
            "Alertmanager or the way out is broken."
        ),
    )


def alerts() -> list[Alert]:
    """Return the alerts on the monitoring itself."""
    return [_exporter_down(), _rule_failures(), _not_storing(), _reload_failed(), _watchdog()]

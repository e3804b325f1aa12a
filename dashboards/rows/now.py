"""The first screen: what is wrong now, for whom, and what the numbers of each target are."""

from grafanalib import core

from dashboards import expressions as expr
from dashboards.layout import Item, Section
from dashboards.panels import Column, Query, by_name, stat, state_timeline, table, thresholds
from exporters.probe import metrics as probe
from inferwatch.links import runbook_url
from prometheus import vocabulary as names

UP = {0: ("down", "red"), 1: ("up", "green")}
PASSED = {0: ("failed", "red"), 1: ("passed", "green")}
SIMULATED = {0: ("real", "text"), 1: ("simulated", "orange")}
SEVERITY_COLORS = {"page": "red", "ticket": "orange", "info": "blue"}


def section() -> Section:
    """Return the row; it needs no title, as it is the top of the page."""
    tiles = (_failing(), _attainment(), _worst_ttft(), _worst_tpot(), _waiting(), _gpu_source())
    return Section(
        "",
        (
            *(Item(tile, width=4, height=4) for tile in tiles),
            Item(_firing(), width=12, height=8),
            Item(_up_or_down(), width=12, height=8),
            Item(_targets(), width=24, height=8),
        ),
    )


def _failing() -> core.Stat:
    configured = expr.by_target(probe.TARGET_INFO)
    good = f"({expr.last_probe()} == 1\nunless on (target) {expr.ENGINE_UP} == 0)"
    return stat(
        "Targets not up",
        "Configured targets that are not known to be good: the last probe failed, is late or has not ended yet, or at "
        "least one metrics address could not be scraped. 0 is good. Source: probes, Prometheus.",
        "none",
        Query(f"count({configured} unless on (target) {good})\nor 0 * count({configured})"),
        empty="no probe exporter",
        steps=thresholds("green", (1, "red")),
        runbook="TargetDown",
    )


def _attainment() -> core.Stat:
    return stat(
        "Lowest share of good probes",
        "The target with the lowest share of probes that succeeded and met every latency objective, over the time "
        "shown on this page. 100 % is best. A target without objectives is judged by success alone. Source: probes.",
        "percentunit",
        Query(f"bottomk(1, {expr.within_objectives('$__range')})", "{{target}}"),
        empty="no probes yet",
        steps=thresholds("red", (0.95, "orange"), (0.99, "green")),
        runbook="ProbeFailing",
    )


def _worst_ttft() -> core.Stat:
    return stat(
        "Slowest TTFT P95",
        "The target whose time to first token is the longest: 95 of 100 requests of the last 5 minutes were faster. "
        "The line names the source: engine (all requests, by its own clock) or, where it has no such metric, probe.",
        "s",
        Query(f"topk(1, {expr.engine_or_probe('ttft', 'p95')})", "{{target}} ({{source}})"),
        empty="no requests",
        runbook="TTFTHigh",
    )


def _worst_tpot() -> core.Stat:
    return stat(
        "Slowest TPOT P95",
        "The target whose time per output token is the longest: 95 of 100 requests of the last 5 minutes were faster. "
        "1 divided by it is the tokens per second that a reader sees. Source: engine, or where it has none, probe.",
        "s",
        Query(f"topk(1, {expr.engine_or_probe('tpot', 'p95')})", "{{target}} ({{source}})"),
        empty="no requests",
        runbook="TPOTHigh",
    )


def _waiting() -> core.Stat:
    return stat(
        "Longest queue",
        "The target with the most requests that an engine has accepted and not yet begun, over all its replicas. "
        "Above 0 for minutes means that more comes in than it can serve. Source: engine.",
        "none",
        Query(f"topk(1, {expr.by_target(names.REQUESTS_WAITING, 'sum')})", "{{target}}"),
        empty="no engine metrics",
        runbook="QueueDepthHigh",
    )


def _gpu_source() -> core.Stat:
    return stat(
        "GPUs are",
        "Simulated means that at least one GPU exporter was started with --simulate: its GPU figures are made up and "
        "say nothing about this machine. Lines of such GPUs end in (simulated). Source: GPU exporter.",
        "none",
        Query(expr.simulated()),
        empty="no GPU exporter",
        mappings=SIMULATED,
    )


def _firing() -> core.Table:
    identity = {"severity": "Severity", "alertname": "Alert", "target": "Target", "node": "Node", "gpu": "GPU"}
    wanted = f'severity!="none", {expr.TARGET_OR_NONE}'
    since = f'ALERTS_FOR_STATE{{{wanted}}} and ignoring (alertstate) ALERTS{{alertstate="firing", {wanted}}}'
    severity = {value: {"color": color, "index": i} for i, (value, color) in enumerate(SEVERITY_COLORS.items())}
    return table(
        "What is firing",
        "Alerts that fire now, newest first; a click on the name opens its runbook. `page` wakes somebody, `ticket` "
        "waits for the morning, `info` explains others. Silences do not hide an alert here. Source: Prometheus.",
        identity,
        [Column("True for", f"time() - max by ({', '.join(identity)}) ({since})", "s")],
        empty="nothing is firing",
        sort_by="True for",
        overrides=[
            by_name("Alert", links=[{"title": "Runbook", "url": runbook_url("${__value.raw}"), "targetBlank": True}]),
            by_name(
                "Severity",
                mappings=[{"options": severity, "type": "value"}],
                custom__cellOptions={"type": "color-background", "mode": "basic"},
            ),
        ],
    )


def _up_or_down() -> core.StateTimeline:
    return state_timeline(
        "Up or down",
        "Green is up, red is down, a gap means that nothing was measured. `engine`: Prometheus could scrape every "
        "metrics address of the target. `probe`: the last probe of every scenario succeeded. Engine up with probe down "
        "is a server that runs and does not answer.",
        "none",
        [Query(expr.ENGINE_UP, "{{target}} engine"), Query(expr.last_probe(), "{{target}} probe")],
        empty="no targets are configured, or the probe exporter does not answer",
        mappings=UP,
        runbook="TargetDown",
    )


def _targets() -> core.Table:
    chosen = "var-target=${__value.raw}&var-datasource=${datasource}&${__url_time_range}"
    only_this = {"title": "Show only this target", "url": f"/d/{names.OVERVIEW_UID}?{chosen}"}
    return table(
        "Targets",
        "One line for each configured target, with its figures now; a click on the name shows that target alone. "
        "An empty cell means that nobody measures it: engine figures need the engine's metrics address, costs need a "
        "price. Latencies are the engine's where it has them, else the probes'. Costs are in the target's currency.",
        {"target": "Target"},
        [
            Column("", expr.by_target(probe.TARGET_INFO), "none"),
            Column("Engine", expr.ENGINE_UP, "none", UP),
            Column("Last probe", expr.last_probe(), "none", PASSED),
            Column("Good probes", expr.within_objectives("$__range"), "percentunit"),
            Column("TTFT P95", expr.engine_or_probe("ttft", "p95", say_which=False), "s"),
            Column("TPOT P95", expr.engine_or_probe("tpot", "p95", say_which=False), "s"),
            Column("E2E P99", expr.engine_or_probe("e2e", "p99", say_which=False), "s"),
            Column("Waiting", expr.by_target(names.REQUESTS_WAITING, "sum"), "none"),
            Column("Output tokens", expr.by_target(names.OUTPUT_TOKENS_RATE, "sum"), "suffix:tok/s"),
            Column("Cost per M output tokens", expr.by_target(names.COST_PER_MTOK_OUTPUT), "none"),
            Column("GPU throttled", expr.by_target(names.TARGET_GPU_THROTTLED), "percentunit"),
        ],
        empty="no targets are configured, or the probe exporter does not answer",
        sort_by="Target",
        overrides=[by_name("Target", links=[only_this])],
    )

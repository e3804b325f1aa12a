"""Who reads what is recorded: a series that nobody reads costs as much as one that somebody does."""

import re
from typing import Any

from test_rules_hygiene import ALERTS, RECORDED, RECORDS, RULES, series_of

from dashboards.queries import panel_queries
from prometheus import vocabulary as names
from prometheus.concepts import CONCEPTS, recorded


def vocabulary() -> set[str]:
    """Return what is recorded of every concept and latency, since an engine tells it and somebody may ask."""
    found = {name for concept in CONCEPTS for kind in ("engine", "gateway") for name in recorded(concept, kind)}
    for prefix, latencies in (
        ("llm", names.LATENCIES),
        ("llm_gateway", names.GATEWAY_LATENCIES),
        ("llm_probe", names.PROBE_LATENCIES),
    ):
        for latency in latencies:
            found |= {names.quantile(latency, name, prefix) for name in (*names.QUANTILES, "mean")}
            of_latency = (names.buckets, names.observations, names.beyond_buckets, names.first_bucket)
            found |= {name(latency, prefix) for name in of_latency}
    return found


def named_in(text: str) -> set[str]:
    """Return the recorded series that a text names."""
    return {name for name in RECORDED if re.search(rf"(?<![\w:]){re.escape(name)}(?![\w:])", text)}


def texts(alert: dict[str, Any]) -> str:
    """Return what an alert asks for when it is rendered."""
    return " ".join(alert["annotations"].values())


SHOWN = {name for query in panel_queries() for name in named_in(query.expr)}
ALERTING = {name for alert in ALERTS for name in series_of(alert["expr"]) | named_in(texts(alert))}
READ = SHOWN | ALERTING | {name for rule in RECORDS for name in series_of(rule["expr"])}


def test_nothing_is_recorded_that_nobody_reads_and_that_is_no_part_of_the_vocabulary():
    assert RECORDED - READ - vocabulary() == set(names.ASKED_BY_HAND)


def test_what_is_recorded_at_prometheus_own_interval_is_followed_by_a_panel_an_alert_or_what_they_read():
    followed = SHOWN | ALERTING
    while (
        more := {
            name for rule in RULES if rule.get("record") in followed for name in series_of(rule["expr"]) & RECORDED
        }
        - followed
    ):
        followed |= more
    often = {rule["record"] for rule in RECORDS if not rule["interval"]}
    assert len(often) >= 15
    assert often - followed == set()

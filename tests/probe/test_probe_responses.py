"""Statuses by target: counted once for each probe that was answered, few, and gone with their target."""

import pytest
from hostile import HostileServer
from prometheus_client import CollectorRegistry

from exporters.probe.scheduling.prober import Prober
from exporters.probe.series.found import FoundCollector
from exporters.probe.series.responses import MOST_CODES, Responses
from inferwatch.config import Config, parse_config


def config(hostile: HostileServer, *names: str, buckets: str = "fine") -> Config:
    lines = [f"prober: {{max_lag: 1m, buckets: {buckets}}}", "targets:"]
    lines += [f"- {{name: {name.replace('_', '-')}, url: '{hostile.url(name)}', model: m}}" for name in names]
    return parse_config("\n".join(lines), "inferwatch.yml", {})


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("good", "200"),
        ("truncated", "200"),
        ("html", "200"),
        ("limited", "429"),
        ("broken", "500"),
        ("redirect", "307"),
    ],
)
def test_each_answered_probe_counts_once(hostile: HostileServer, name: str, code: str) -> None:
    prober = Prober()
    prober.apply(config(hostile, name))
    prober.run((name, "short"))
    assert prober.responses.all() == {name: {"200": 0} | {code: 1}}


def test_a_probe_without_an_answer_counts_none(hostile: HostileServer) -> None:
    prober = Prober()
    prober.apply(config(hostile, "reset_before_answer"))
    prober.run(("reset-before-answer", "short"))
    assert prober.responses.all() == {"reset-before-answer": {"200": 0}}


def test_made_up_codes_are_bounded_and_targets_go() -> None:
    responses = Responses()
    responses.apply({"chat", "other"})
    for status in range(200, 600):
        responses.count("chat", status)
    responses.count("deleted", 200)
    counts = responses.all()["chat"]
    assert len(counts) == MOST_CODES + 1 and sum(counts.values()) == 400
    responses.apply({"chat"})
    assert set(responses.all()) == {"chat"} and responses.all()["chat"] == counts


def test_it_is_shown() -> None:
    responses = Responses()
    responses.apply({"chat"})
    responses.count("chat", 503)
    registry = CollectorRegistry()
    registry.register(FoundCollector(dict, dict, responses.all, lambda: None))
    for code, count in (("200", 0), ("503", 1)):
        assert registry.get_sample_value("llm_probe_http_responses_total", {"target": "chat", "code": code}) == count


def test_a_reload_changes_the_buckets_and_keeps_the_counters(hostile: HostileServer) -> None:
    prober = Prober()
    prober.apply(config(hostile, "good"))
    prober.run(("good", "short"))
    assert prober.apply(config(hostile, "good", buckets="coarse")) == set()
    series = prober.records()["good", "short"].snapshot()[1]
    assert (series.started, sum(series.ttft.counts), len(series.ttft.counts)) == (1, 0, 18)
    assert prober.responses.all() == {"good": {"200": 1}}

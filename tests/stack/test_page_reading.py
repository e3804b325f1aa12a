"""What the page makes of samples: rows, figures, sentences; and that nothing old is shown as new."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from page_fakes import FakePrometheus, alert, engine_samples, free_address, gpu_samples, sample, serving, target_samples

from exporters.gpu import metrics as gpu
from exporters.probe import metrics as probe
from prometheus import vocabulary as words
from stack.page import figures
from stack.page.gpus import read_gpus
from stack.page.prometheus_api import Prometheus, Sample, Samples, UnreachableError
from stack.page.snapshot import Snapshot, View, read_snapshot
from stack.page.verdict import judge


def snapshot_of(fake: FakePrometheus, alertmanager: bool = False) -> Snapshot:
    with serving(fake):
        prometheus = Prometheus(fake.url)
        try:
            return read_snapshot(prometheus, fake.url if alertmanager else None, time.time())
        finally:
            prometheus.close()


def verdict_of(fake: FakePrometheus) -> str:
    return judge(View(time.time(), snapshot_of(fake))).text


def test_a_busy_target_shows_what_users_get() -> None:
    (row,) = snapshot_of(FakePrometheus(samples=[*target_samples("chat"), *engine_samples("chat")])).targets
    assert row.state == "answers"
    assert (row.ttft.text, row.ttft.source) == ("870 ms", "p95, engine")
    assert row.tpot.text == "31 ms"
    assert row.queue.text == "3"
    assert row.tokens_per_second.text == "1,234"
    assert row.cost.text == "3.42 USD"
    assert row.last_probe.text == "succeeded"
    assert row.last_probe.source.startswith("short, 1")
    assert row.engine.text == "scraped"


def test_a_target_without_metrics_shows_its_last_probe() -> None:
    (row,) = snapshot_of(FakePrometheus(samples=target_samples("remote"))).targets
    assert (row.ttft.text, row.ttft.source) == ("412 ms", "last probe")
    assert not row.queue.known
    assert row.engine.source == "no metrics scraped"


def test_the_probes_quantile_stands_in_for_an_engine_without_histograms() -> None:
    samples = [*target_samples("small"), sample(words.quantile("ttft", "p95", "llm_probe"), 1.5, target="small")]
    (row,) = snapshot_of(FakePrometheus(samples=samples)).targets
    assert (row.ttft.text, row.ttft.source) == ("1.5 s", "p95, probes")


def test_a_latency_over_its_objective_is_marked() -> None:
    objectives = [
        sample(probe.TARGET_SLO, 0.5, target="chat", slo="ttft", quantile="0.95"),
        # Of another quantile than the one that is shown.
        sample(probe.TARGET_SLO, 0.001, target="chat", slo="tpot", quantile="0.99"),
    ]
    samples = [*target_samples("chat"), *engine_samples("chat"), *objectives]
    (row,) = snapshot_of(FakePrometheus(samples=samples)).targets
    assert (row.ttft.source, row.ttft.bad) == ("p95, engine, over 500 ms", True)
    assert not row.tpot.bad


def test_too_few_tokens_show_the_burn_instead_of_a_unit_cost() -> None:
    (row,) = snapshot_of(FakePrometheus(samples=[*target_samples("b"), *engine_samples("b", cost=None)])).targets
    assert not row.cost.known
    assert row.cost.source == "too few tokens; 5 USD an hour"


def test_a_failing_target_says_how_it_failed_lately() -> None:
    fake = FakePrometheus(
        samples=target_samples("chat", success=False),
        failures=[sample(probe.REQUESTS, 2, target="chat", outcome="connect")],
    )
    (row,) = snapshot_of(fake).targets
    assert row.state == "fails"
    assert row.reason == "the last probe failed: short (connect in the last 5 minutes)"


def test_an_overdue_probe_is_unknown_and_its_latency_is_not_shown() -> None:
    (row,) = snapshot_of(FakePrometheus(samples=target_samples("chat", ended_ago=600))).targets
    assert row.state == "unknown"
    assert row.reason == "probe short last ended 10 min ago, though it is due every 1 min"
    assert not row.ttft.known


def test_the_later_of_two_probers_counts() -> None:
    older = [
        Sample(one.name, one.labels | {"instance": "other:9811"}, one.value)
        for one in target_samples("chat", success=False, ended_ago=50)
    ]
    (row,) = snapshot_of(FakePrometheus(samples=[*older, *target_samples("chat", ended_ago=5)])).targets
    assert row.state == "answers"


def test_a_value_that_prometheus_holds_but_that_is_old_is_not_shown() -> None:
    fake = FakePrometheus(samples=[*target_samples("chat"), *engine_samples("chat")], old={words.REQUESTS_WAITING})
    (row,) = snapshot_of(fake).targets
    assert not row.queue.known
    assert row.tokens_per_second.known


def test_targets_stay_listed_as_unknown_without_the_probe_exporter() -> None:
    fake = FakePrometheus(lately=[sample("", 1, target="chat"), sample("", 1, target="batch")])
    rows = snapshot_of(fake).targets
    assert [(row.name, row.state) for row in rows] == [("batch", "unknown"), ("chat", "unknown")]
    assert "probe exporter" in rows[0].reason
    assert verdict_of(fake).startswith("The state of batch and chat is unknown.")


def test_a_quantile_over_no_traffic_is_absent() -> None:
    samples = [*target_samples("c", success=False), sample(words.quantile("ttft", "p95"), float("nan"), target="c")]
    (row,) = snapshot_of(FakePrometheus(samples=samples)).targets
    assert not row.ttft.known


def test_replicas_that_do_not_answer_are_counted() -> None:
    samples = [
        *target_samples("c"),
        sample("up", 1, job="llm-engine", target="c", instance="a:1"),
        sample("up", 0, job="llm-engine", target="c", instance="b:1"),
    ]
    (row,) = snapshot_of(FakePrometheus(samples=samples)).targets
    assert (row.engine.text, row.engine.source) == ("partly", "1 of 2 replicas answer")


def test_gpus_show_harmful_throttling_and_not_the_power_cap() -> None:
    snapshot = snapshot_of(FakePrometheus(samples=[*gpu_samples("0"), *gpu_samples("1", hot=True)]))
    cool, hot = snapshot.gpus
    assert (cool.throttled.text, cool.throttled.bad) == ("no", False)
    assert (hot.throttled.text, hot.throttled.source) == ("now: hw_thermal_slowdown", "34 % of 5 minutes")
    assert hot.throttled.bad
    assert (hot.utilization.text, hot.memory.text, hot.temperature.text) == ("87 %", "91 %", "91 °C")


def test_a_lost_gpu_shows_no_numbers() -> None:
    samples = [*gpu_samples("0"), sample(gpu.LAST_ERROR_CODE, 15, node="gpu-01", gpu="0", uuid="GPU-gpu-01-0")]
    samples[0] = sample(gpu.UP, 0, node="gpu-01", gpu="0", uuid="GPU-gpu-01-0")
    (row,) = snapshot_of(FakePrometheus(samples=samples)).gpus
    assert row.trouble == "cannot be read (NVML code 15)"
    assert not row.utilization.known


def test_the_verdict_names_lost_gpus() -> None:
    samples = [*target_samples("a"), *gpu_samples("0"), sample(gpu.UP, 0, node="gpu-01", gpu="1", uuid="x")]
    assert verdict_of(FakePrometheus(samples=samples)) == "The target answers. No alert fires. 1 GPU cannot be read."


def test_a_node_whose_exporter_does_not_answer_is_named() -> None:
    down = [sample("up", 0, job="gpu", node=node, instance=node) for node in ("gpu-02", "local")]
    fake = FakePrometheus(samples=[*target_samples("a"), *gpu_samples("0"), *down])
    assert [(row.node, row.trouble) for row in snapshot_of(fake).gpus] == [
        ("gpu-01", ""),
        ("gpu-02", "its exporter does not answer"),
    ]
    assert verdict_of(fake) == "The target answers. No alert fires. The GPU exporter of gpu-02 does not answer."


def test_gpus_are_in_the_order_of_their_index() -> None:
    fake = FakePrometheus(samples=[one for index in ("10", "9", "0") for one in gpu_samples(index)])
    assert [row.index for row in snapshot_of(fake).gpus] == ["0", "9", "10"]


@pytest.mark.parametrize(
    ("samples", "sentence"),
    [
        ([sample(gpu.SIMULATED, 1, node="gpu-01"), *gpu_samples("0")], "All of these GPUs are simulated"),
        (
            [sample(gpu.SIMULATED, 1, node="demo"), *gpu_samples("0"), *gpu_samples("1", node="demo")],
            "1 of these GPUs are",
        ),
        ([sample(gpu.NVML_UP, 0), sample(gpu.NVML_INIT_ERROR_CODE, 12)], "(NVML code 12)"),
        ([sample("up", 1, job="gpu")], "finds no GPU"),
        ([sample("up", 0, job="gpu")], "No GPU exporter answers"),
    ],
)
def test_the_sentence_about_gpus(samples: list[Sample], sentence: str) -> None:
    assert sentence in snapshot_of(FakePrometheus(samples=samples)).gpu_note


def test_real_gpus_need_no_sentence() -> None:
    snapshot = snapshot_of(FakePrometheus(samples=gpu_samples("0")))
    assert snapshot.gpu_note == ""
    assert not snapshot.gpus[0].simulated


def test_verdicts() -> None:
    two = [*target_samples("a"), *target_samples("b")]
    assert verdict_of(FakePrometheus(samples=two)) == "All 2 targets answer. No alert fires."
    watchdog = alert("Watchdog", "none")
    firing = FakePrometheus(samples=two, alerts=[watchdog, alert("TTFTHigh", target="a"), alert("X", state="pending")])
    assert verdict_of(firing) == "All 2 targets answer. 1 alert fires."
    pending = FakePrometheus(samples=two, alerts=[alert("X", state="pending")])
    assert verdict_of(pending) == "All 2 targets answer. No alert fires, 1 is pending."
    unread = FakePrometheus()
    assert verdict_of(unread) == "Which targets there are is not known. No alert fires."
    empty = FakePrometheus(samples=[sample(probe.TARGETS_CONFIGURED, 0)])
    assert verdict_of(empty) == "No target is configured. No alert fires."
    both_fail = [*target_samples("a", success=False), *target_samples("b", success=False)]
    assert verdict_of(FakePrometheus(samples=both_fail)).startswith("None of the 2 targets answers: a and b.")
    one_fails = FakePrometheus(samples=[*target_samples("a"), *target_samples("b", success=False)])
    assert verdict_of(one_fails) == "1 of 2 targets does not answer: b. No alert fires."


def test_a_waiting_target_is_neither_up_nor_down() -> None:
    fake = FakePrometheus(samples=[sample(probe.TARGET_INFO, 1, target="new")])
    assert snapshot_of(fake).targets[0].state == "waits"
    assert verdict_of(fake) == "The target waits for the first probe. No alert fires."


def test_alerts_that_alertmanager_holds_back_are_said_to_be() -> None:
    quiet, lesser, loud = alert("TTFTHigh", target="a"), alert("QueueDepthHigh"), alert("TPOTHigh", target="a")
    fake = FakePrometheus(
        samples=target_samples("a"),
        alerts=[quiet, lesser, loud],
        held=[
            {
                **quiet,
                "labels": {**quiet["labels"], "cluster": "x"},
                "status": {"state": "suppressed", "silencedBy": ["1"]},
            },
            {**lesser, "status": {"state": "suppressed", "silencedBy": [], "inhibitedBy": ["2"]}},
            {**loud, "status": {"state": "active", "silencedBy": []}},
        ],
    )
    snapshot = snapshot_of(fake, alertmanager=True)
    expected = "The target answers. 1 alert fires. 1 alert is silenced. 1 alert is inhibited."
    assert judge(View(time.time(), snapshot)).text == expected


def test_without_prometheus_alertmanager_tells_what_fires() -> None:
    active = {**alert("TargetDown", target="a"), "status": {"state": "active"}}
    with serving(FakePrometheus(held=[active])) as alertmanager:
        prometheus = Prometheus("http://127.0.0.1:9")
        snapshot = read_snapshot(prometheus, alertmanager.url, time.time())
        prometheus.close()
    assert "the connection is refused" in snapshot.unreachable
    view = View(time.time(), snapshot)
    assert judge(view).tone == "bad"
    assert judge(view).text == "Prometheus does not answer, so targets and GPUs are unknown. 1 alert fires."


def test_an_old_snapshot_is_not_the_present() -> None:
    snapshot = snapshot_of(FakePrometheus(samples=target_samples("a")))
    view = View(snapshot.at + 61, snapshot)
    assert view.present is None
    assert judge(view).text == "This page could not read Prometheus for more than a minute."


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (probe.CONFIG_RELOAD_SUCCESSFUL, 0, "the last good one stays in force"),
        (probe.CONFIG_FROM_STATE, 1, "the saved copy of the last good one is in force"),
    ],
)
def test_a_broken_configuration_is_said(name: object, value: float, sentence: str) -> None:
    assert sentence in snapshot_of(FakePrometheus(samples=[sample(name, value)])).configuration


def test_something_else_at_prometheus_address_is_named() -> None:
    fake = FakePrometheus()
    fake.answer = lambda path, query: {"status": "success", "data": ["no", "vector"]}  # type: ignore[method-assign]
    assert "no Prometheus" in snapshot_of(fake).unreachable


@pytest.mark.parametrize(
    ("show", "value", "text"),
    [
        (figures.seconds, 0.000739, "0.74 ms"),
        (figures.seconds, 0.0184, "18.4 ms"),
        (figures.seconds, 0.412, "412 ms"),
        (figures.seconds, 0.9996, "1 s"),
        (figures.seconds, 12.34, "12.3 s"),
        (figures.seconds, 123.4, "123 s"),
        (figures.number, 0.0342, "0.0342"),
        (figures.number, 0, "0"),
        (figures.number, 99.96, "100"),
        (figures.number, 45678.4, "45,678"),
        (figures.percent, 0.001, "<1 %"),
        (figures.percent, 0.0, "0 %"),
        (figures.percent, 1.0, "100 %"),
        (figures.age, -3, "0 s"),
        (figures.age, 59.6, "1 min"),
        (figures.age, 9000, "2 h 30 min"),
        (figures.age, 200_000, "2 d 7 h"),
    ],
)
def test_figures_read_as_a_person_writes_them(show: Callable[[float], str], value: float, text: str) -> None:
    assert show(value) == text


@pytest.mark.tool("prometheus")
def test_a_real_prometheus_answers_the_pages_queries(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """The queries are legal, and a series that has ended or is old is not fresh, on the Prometheus that ships."""
    address = free_address()
    (tmp_path / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\n"
        "scrape_configs:\n"
        f"- {{job_name: prometheus, static_configs: [{{targets: ['{address}']}}]}}\n"
        "- {job_name: gpu, static_configs: [{targets: ['127.0.0.1:9']}]}\n"
    )
    command = [
        str(tool("prometheus")),
        f"--config.file={tmp_path}/prometheus.yml",
        f"--storage.tsdb.path={tmp_path}/data",
        f"--web.listen-address={address}",
    ]
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        prometheus = Prometheus(f"http://{address}")
        try:
            deadline = time.monotonic() + 60
            snapshot = read_snapshot(prometheus, None, time.time())
            while snapshot.unreachable and time.monotonic() < deadline:
                time.sleep(0.2)
                snapshot = read_snapshot(prometheus, None, time.time())
            assert snapshot.unreachable == ""
            while len(prometheus.fresh(["up"]).of("up")) < 2:
                assert time.monotonic() < deadline
                time.sleep(0.2)
            assert {one.labels["job"]: one.value for one in prometheus.fresh(["up"]).of("up")} == {
                "prometheus": 1,
                "gpu": 0,
            }
            with pytest.raises(UnreachableError, match="refuses the query: invalid parameter"):
                prometheus.query("up{")
        finally:
            prometheus.close()
            process.terminate()


def test_read_gpus_needs_no_samples() -> None:
    assert read_gpus(Samples(0.0)) == []

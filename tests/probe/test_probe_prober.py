"""The prober with real probes against the hostile server: records, models, budgets and reloads."""

import logging
import threading
from pathlib import Path

import pytest
from hostile import HostileServer
from probe_helpers import until

from exporters.probe.scheduling.prober import Prober
from exporters.probe.series.record import Series
from exporters.probe.wire.deadline import expire_all
from inferwatch.config import Config, parse_config

KEY = ("chat", "short")


def config(url: str, *more: str, name: str = "chat", max_tokens: int = 64) -> Config:
    lines = ["targets:", f"- name: {name}", f"  url: {url}", *(f"  {line}" for line in more)]
    lines += ["scenarios:", f"  short: {{prompt: 'the prompt', max_tokens: {max_tokens}}}"]
    return parse_config("\n".join(lines), "inferwatch.yml", {})


def state(prober: Prober, key: tuple[str, str] = KEY) -> tuple[str, Series]:
    return prober.records()[key].snapshot()


@pytest.fixture(autouse=True)
def first_listed(hostile: HostileServer) -> None:
    hostile.models.clear()


def test_one_probe_is_counted_once(hostile: HostileServer) -> None:
    prober = Prober(lambda: 1_800_000_000.0)
    assert prober.apply(config(hostile.url("good"), "model: m")) == {KEY}
    prober.run(KEY)
    name, series = state(prober)
    assert (name, series.started, series.outcomes["success"], series.output_tokens) == ("m", 1, 1, 5)
    assert (series.last_ended_at, prober.inflight()) == (1_800_000_000.0, 0)


def test_without_a_model_the_first_that_is_listed_is_asked_for(hostile: HostileServer) -> None:
    hostile.models["good"] = ["first", "second"]
    prober = Prober()
    prober.apply(config(hostile.url("good")))
    assert state(prober)[0] == ""
    prober.run(KEY)
    prober.run(KEY)
    assert state(prober)[0] == "first"
    assert hostile.requests[-1].body["model"] == "first"
    listed = [peer for peer in hostile.requests[-3:] if peer.path.endswith("/models")]
    assert len(listed) == 1


def test_a_failure_before_the_model_is_known_stays_in_the_one_set_of_series(hostile: HostileServer) -> None:
    prober = Prober()
    hostile.models["good"] = []
    prober.apply(config(hostile.url("good")))
    prober.run(KEY)
    assert state(prober)[0] == "" and state(prober)[1].outcomes["not_found"] == 1
    hostile.models["good"] = ["late"]
    prober.run(KEY)
    name, series = state(prober)
    assert (name, series.started, series.outcomes["not_found"], series.outcomes["success"]) == ("late", 2, 1, 1)


def test_a_model_that_is_gone_is_looked_up_again(hostile: HostileServer) -> None:
    prober = Prober()
    hostile.models["model_not_found"] = ["old"]
    prober.apply(config(hostile.url("model_not_found")))
    prober.run(KEY)
    assert (state(prober)[0], state(prober)[1].outcomes["not_found"]) == ("old", 1)
    hostile.models["model_not_found"] = ["new"]
    prober.run(KEY)
    assert hostile.requests[-1].body["model"] == "new"
    # Another model is another thing: counted from 0.
    assert (state(prober)[0], state(prober)[1].started) == ("new", 1)


@pytest.mark.parametrize(
    ("name", "outcome"), [("unauthorized", "auth"), ("broken", "http_5xx"), ("html", "not_stream")]
)
def test_the_outcome_of_listing_the_models_is_the_probe_s(hostile: HostileServer, name: str, outcome: str) -> None:
    prober = Prober()
    prober.apply(config(hostile.url(name)))
    prober.run(KEY)
    series = state(prober)[1]
    assert (series.started, series.outcomes[outcome]) == (1, 1)


def test_a_spent_budget_pauses_the_target(hostile: HostileServer) -> None:
    # Each probe costs 11 + 5 tokens and may cost 11 + 64; 16 + 75 fit into 91, 32 + 75 do not.
    prober = Prober(lambda: 1_800_000_000.0)
    prober.apply(config(hostile.url("good"), "model: m", "probe_budget: {tokens_per_day: 91}"))
    for _ in range(4):
        prober.run(KEY)
    series = state(prober)[1]
    assert (series.started, series.outcomes["success"], series.skipped["budget"]) == (2, 2, 2)


def test_a_file_that_was_empty_for_a_moment_begins_no_new_day(hostile: HostileServer) -> None:
    prober = Prober(lambda: 1_800_000_000.0)
    in_force = config(hostile.url("good"), "model: m", "probe_budget: {tokens_per_day: 91}")
    for started in (2, 0):
        prober.apply(in_force)
        for _ in range(3):
            prober.run(KEY)
        assert state(prober)[1].started == started
        prober.apply(Config())


def test_reload_keeps_what_is_measured_as_before(hostile: HostileServer) -> None:
    prober = Prober()
    prober.apply(config(hostile.url("good"), "model: m"))
    prober.run(KEY)
    assert (
        prober.apply(config(hostile.url("good"), "model: m", "interval: 5s", "slo: {ttft: {threshold: 1s}}")) == set()
    )
    assert state(prober)[1].started == 1
    assert prober.intervals() == {KEY: 5.0}


@pytest.mark.parametrize("change", ["url", "model", "max_tokens"])
def test_reload_counts_what_is_measured_anew_from_zero(hostile: HostileServer, change: str) -> None:
    prober = Prober()
    prober.apply(config(hostile.url("good"), "model: m"))
    prober.run(KEY)
    other = {
        "url": config(hostile.url("no_usage"), "model: m"),
        "model": config(hostile.url("good"), "model: other"),
        "max_tokens": config(hostile.url("good"), "model: m", max_tokens=32),
    }[change]
    assert prober.apply(other) == {KEY}
    assert state(prober)[1].started == 0


def test_a_probe_that_ends_after_its_target_was_deleted_is_nobody_s(hostile: HostileServer) -> None:
    prober = Prober()
    prober.apply(config(hostile.url("slow"), "model: m"))
    thread = threading.Thread(target=prober.run, args=[KEY])
    thread.start()
    until(lambda: prober.inflight() == 1, "the probe runs")
    prober.apply(config(hostile.url("good"), "model: m", name="other"))
    thread.join(60)
    assert set(prober.records()) == {("other", "short")}
    assert state(prober, ("other", "short"))[1].outcomes["success"] == 0
    prober.run(KEY)
    assert prober.inflight() == 0


def test_a_probe_on_request_is_counted_apart_from_those_of_the_schedule(hostile: HostileServer) -> None:
    """Else what was started would never equal what ended and what runs."""
    prober, in_force = Prober(), config(hostile.url("silent"), "model: m")
    prober.apply(in_force)
    target = in_force.targets[0]
    scenario = in_force.scenarios_of(target)["short"]
    thread = threading.Thread(target=prober.once, args=[target, "short", scenario])
    thread.start()
    until(lambda: prober.on_request() == 1, "the probe runs")
    series = state(prober)[1]
    assert (prober.inflight(), series.started, sum(series.outcomes.values())) == (0, 0, 0)
    until(lambda: (expire_all(), not thread.is_alive())[1], "it ends")
    assert (prober.inflight(), prober.on_request()) == (0, 0)


def test_a_line_is_logged_when_the_outcome_changes_and_holds_no_answer(
    hostile: HostileServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    prober = Prober()
    prober.apply(config(hostile.url("unauthorized"), "model: m"))
    prober.run(KEY)
    prober.run(KEY)
    lines = [record.getMessage() for record in caplog.records if "chat" in record.getMessage()]
    assert len(lines) == 1
    assert lines[0].startswith("target chat, scenario short: auth: the server answered 401 (invalid_api_key)")
    assert "sk-hidden" not in caplog.text and "the prompt" not in caplog.text


def test_a_stopped_prober_starts_nothing_and_forgets_what_it_interrupted(hostile: HostileServer) -> None:
    prober = Prober()
    prober.apply(config(hostile.url("silent"), "model: m"))
    thread = threading.Thread(target=prober.run, args=[KEY])
    thread.start()
    until(lambda: prober.inflight() == 1, "the probe runs")
    prober.stop()
    until(lambda: (expire_all(), not thread.is_alive())[1], "it ends")
    prober.run(KEY)
    series = state(prober)[1]
    assert (series.started, sum(series.outcomes.values())) == (1, 0)


def test_every_probe_of_many_threads_ends_in_one_outcome(hostile: HostileServer) -> None:
    names = ["good", "truncated", "broken", "html", "reset", "no_usage"]
    lines = ["targets:"]
    for name in names:
        lines += [f"- name: {name.replace('_', '-')}", f"  url: {hostile.url(name)}", "  model: m"]
    prober = Prober()
    keys = sorted(prober.apply(parse_config("\n".join(lines), "inferwatch.yml", {})))
    threads = [threading.Thread(target=prober.run, args=[key]) for key in keys for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for record in prober.records().values():
            series = record.snapshot()[1]
            assert 0 <= series.started - sum(series.outcomes.values()) <= 3
        threads[-1].join(0.01)
    for key in keys:
        series = state(prober, key)[1]
        assert (series.started, sum(series.outcomes.values())) == (3, 3)


def test_a_fault_of_ours_is_an_outcome_too(hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("exporters.probe.scheduling.prober.run_probe", fault)
    prober = Prober()
    prober.apply(config(hostile.url("good"), "model: m"))
    prober.run(KEY)
    series = state(prober)[1]
    assert (series.started, series.outcomes["internal"], prober.inflight()) == (1, 1, 0)


def test_a_restart_knows_what_was_spent(hostile: HostileServer, tmp_path: Path) -> None:
    in_force = config(hostile.url("good"), "model: m", "probe_budget: {tokens_per_day: 91}")
    for runs, skipped in ((2, 0), (2, 2)):
        prober = Prober(lambda: 1_800_000_000.0, tmp_path)
        prober.apply(in_force)
        for _ in range(runs):
            prober.run(KEY)
        prober.spending.budgets.save()
        assert state(prober)[1].skipped["budget"] == skipped


def test_a_server_that_names_a_time_is_left_alone_and_told_apart(hostile: HostileServer) -> None:
    prober = Prober()
    prober.apply(config(hostile.url("limited"), "model: m"))
    prober.run(KEY)
    prober.run(KEY)
    series = state(prober)[1]
    assert (series.started, series.outcomes["rate_limited"], series.skipped["backoff"]) == (1, 1, 1)
    assert 0 < prober.manners.paused("chat") <= 60


def test_a_target_that_fails_again_and_again_is_probed_less_often(hostile: HostileServer) -> None:
    prober = Prober()
    prober.apply(config(hostile.url("broken"), "model: m", "interval: 10s"))
    for _ in range(6):
        prober.run(KEY)
    series = state(prober)[1]
    assert (series.outcomes["http_5xx"], series.skipped["backoff"]) == (3, 3)

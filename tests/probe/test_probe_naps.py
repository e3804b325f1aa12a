"""Targets that probes must not wake: who tells that they sleep, and what is sent and counted meanwhile."""

import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hostile import HostileServer
from hypothesis import given
from hypothesis import strategies as st
from probe_helpers import target

from exporters.probe.scheduling.paused import PausedCollector
from exporters.probe.scheduling.prober import Prober
from exporters.probe.targets import naps
from exporters.probe.targets.naps import VLLM_STATE, Naps, sleeps
from exporters.probe.targets.recognition import Page
from inferwatch.config import Config, parse_config
from inferwatch.errors import ConfigError

STATE = 'vllm:engine_sleep_state{{engine="0",model_name="m",sleep_state="awake"}} {}\n'


class Server(ThreadingHTTPServer):
    """Answers a GET of each path with a document or a text; other paths with 404."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.status = 200
        self.asked: list[tuple[str, str | None]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        answer = self.server.answers.get(self.path)
        self.send_response(404 if answer is None else self.server.status)
        self.end_headers()
        self.wfile.write((answer if isinstance(answer, str) else json.dumps(answer)).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


def loaded(*names: str) -> dict[str, object]:
    return {"/api/ps": {"models": [{"name": name, "model": name} for name in names]}}


def listed(**status: str) -> dict[str, object]:
    return {"/models": {"data": [{"id": name, "status": {"value": value}} for name, value in status.items()]}}


def running(**states: str) -> dict[str, object]:
    return {"/running": {"running": [{"model": name, "state": state} for name, state in states.items()]}}


@pytest.mark.parametrize(
    ("engine", "answers", "asleep"),
    [
        ("ollama", loaded(), True),
        ("ollama", loaded("other:7b"), True),
        ("ollama", loaded("other:7b", "m:latest"), False),
        ("ollama", {}, None),
        ("llamacpp", {"/props": {"is_sleeping": True}}, True),
        ("llamacpp", {"/props": {"is_sleeping": False}}, False),
        ("llamacpp", {"/props": {"total_slots": 1}}, False),
        ("llamacpp", {}, None),
        ("llamacpp", listed(other="loaded", m="unloaded"), True),
        ("llamacpp", listed(other="loaded", m="sleeping"), True),
        ("llamacpp", listed(other="unloaded", m="loaded"), False),
        ("llamacpp", {"/models": {"data": [{"id": "m"}]}, "/props": {"is_sleeping": True}}, True),
        ("llamacpp", running(other="ready"), True),
        ("llamacpp", running(m="ready"), False),
        ("llamacpp", running(m="stopping"), True),
        ("vllm", {"/is_sleeping": {"is_sleeping": True}}, True),
        ("vllm", {"/is_sleeping": {"is_sleeping": False}, "/metrics": STATE.format(1)}, False),
        ("vllm", {"/metrics": STATE.format(0)}, True),
        ("vllm", {"/metrics": STATE.format(0) + STATE.replace('"0"', '"1"').format(1)}, False),
        ("vllm", {"/metrics": "vllm:num_requests_running 0\n"}, False),
        # An answer of another form tells nothing.
        ("ollama", {"/api/ps": {"models": [{"name": ["m"]}]}}, None),
        ("ollama", {"/api/ps": {"models": ["m"]}}, None),
        ("ollama", {"/api/ps": ["m"]}, None),
        ("llamacpp", {"/running": {"running": [{"model": {}}]}}, None),
        ("llamacpp", {"/running": {"running": [{"model": "m", "state": ["ready"]}]}}, None),
        ("llamacpp", {"/running": {"running": [5]}, "/props": {"is_sleeping": True}}, True),
        ("llamacpp", {"/models": {"data": [{"id": "m", "status": {"value": 5}}]}}, None),
        ("vllm", {"/metrics": STATE.format("x")}, None),
        ("vllm", {"/metrics": "vllm:engine_sleep_state{"}, None),
        ("vllm", {"/metrics": 'vllm:engine_sleep_state{sleep_state="awake} 0'}, None),
        ("tgi", {"/health": ""}, None),
        ("unknown", {}, None),
    ],
)
def test_what_an_engine_tells(server: Server, engine: str, answers: dict[str, object], asleep: bool | None) -> None:
    server.answers = answers
    asked = target(f"{server.url}/v1", wake=False, model="m", metrics=[f"{server.url}/metrics"])
    assert sleeps(asked, "m", engine) is asleep


WORDS = ("models", "name", "running", "model", "state", "data", "id", "status", "value", "is_sleeping", "m", "ready")
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.sampled_from(WORDS) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize("engine", ["ollama", "llamacpp", "vllm"])
@given(documents=st.lists(ANY_JSON, min_size=3, max_size=3), labels=st.text(max_size=40), value=st.text(max_size=8))
def test_no_answer_is_more_than_an_engine_that_does_not_tell(
    engine: str, documents: list[object], labels: str, value: str
) -> None:
    pages = [Page(200, {}, json.dumps(document).encode()) for document in documents]
    pages.append(Page(200, {}, f"{VLLM_STATE}{{{labels}}} {value}\n".encode("utf-8", "replace")))
    paths = ["/api/ps", "/running", "/models", "/metrics"]
    by_path = dict(zip(paths, pages, strict=True)) | {"/props": pages[0], "/is_sleeping": pages[0]}
    asked = target("http://h/v1", wake=False, model="m", metrics=["http://h/metrics"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(naps, "ask", lambda url, *_, **__: by_path[url.removeprefix("http://h")])
        assert sleeps(asked, "m", engine) in (True, False, None)


def test_a_fault_of_ours_while_asking_is_told_and_skips_the_probe(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fault(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(naps, "sleeps", fault)
    line = f"targets: [{{name: chat, url: '{hostile.url('good')}', model: m, wake: false, engine: vllm}}]"
    prober = Prober()
    prober.apply(parse_config(line, "f.yml", {}))
    prober.run(("chat", "short"))
    series = prober.records()["chat", "short"].snapshot()[1]
    assert (series.started, series.skipped["asleep"]) == (0, 1)
    assert "target chat: inferwatch failed to find out whether it sleeps" in caplog.text


@pytest.mark.parametrize("engine", ["ollama", "llamacpp", "vllm"])
def test_an_engine_that_does_not_answer_is_down_and_not_asleep(free_port: int, engine: str) -> None:
    assert sleeps(target(f"http://127.0.0.1:{free_port}/v1", wake=False, model="m"), "m", engine) is False


def test_the_api_tells_the_engine_too(server: Server) -> None:
    server.answers = loaded()
    assert sleeps(target(server.url, api="ollama", wake=False, model="m"), "", "unknown") is True


# An address of the user's own


@pytest.mark.parametrize(
    ("status", "answer", "text", "asleep"),
    [
        (200, "", None, False),
        (204, "", None, True),
        (503, "", None, True),
        (404, "", None, True),
        (200, '{"state": "running"}', "running", False),
        (200, '{"state": "scaledToZero"}', "running", True),
    ],
)
def test_an_address_that_tells(server: Server, status: int, answer: str, text: str | None, asleep: bool) -> None:
    server.answers, server.status = {"/state?of=m": answer}, status
    more = {"awake_text": text} if text else {}
    asked = target("http://127.0.0.1:1/v1", wake=False, awake_url=f"{server.url}/state?of=m", **more)
    assert sleeps(asked, "m", "vllm") is asleep
    assert [path for path, _ in server.asked] == ["/state?of=m"], "nothing else is asked"


def test_an_address_that_does_not_answer_tells_nothing(free_port: int) -> None:
    asked = target("http://127.0.0.1:1/v1", wake=False, awake_url=f"http://127.0.0.1:{free_port}/state")
    assert sleeps(asked, "m", "vllm") is None


def test_the_key_goes_only_to_its_own_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-secret")
    server.answers = {"/state": ""}
    for url in (f"{server.url}/v1", "http://127.0.0.1:1/v1"):
        sleeps(target(url, wake=False, awake_url=f"{server.url}/state", auth={"bearer_env": "KEY"}), "m", "vllm")
    assert server.asked == [("/state", "Bearer sk-secret"), ("/state", None)]


# What is sent and counted


def configured(hostile: HostileServer, server: Server) -> Config:
    url, asked = hostile.url("good"), f"{server.url}/state"
    return parse_config(
        f"targets: [{{name: chat, url: '{url}', model: m, wake: false, awake_url: '{asked}'}}]", "f.yml", {}
    )


def probes(hostile: HostileServer) -> int:
    return sum(peer.method == "POST" for peer in hostile.requests)


def paused(prober: Prober, config: Config) -> dict[str, float]:
    collector = PausedCollector(lambda: config, prober.spending, prober.manners, prober.naps)
    return {
        sample.labels["reason"]: sample.value
        for family in collector.collect()
        for sample in family.samples
        if sample.name == "llm_probe_paused"
    }


def test_a_target_is_probed_while_it_is_awake_and_left_alone_while_it_sleeps(
    hostile: HostileServer, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    config, key = configured(hostile, server), ("chat", "short")
    prober = Prober()
    prober.apply(config)
    before = probes(hostile)
    server.answers = {"/state": ""}
    prober.run(key)
    assert (probes(hostile) - before, paused(prober, config)["asleep"]) == (1, 0)
    server.status = 503
    prober.run(key)
    prober.run(key)
    assert (probes(hostile) - before, paused(prober, config)["asleep"]) == (1, 1)
    series = prober.records()[key].snapshot()[1]
    assert (series.started, series.skipped["asleep"], series.outcomes["success"]) == (1, 2, 1)
    assert isinstance(prober.once(config.targets[0], "short", config.scenarios_of(config.targets[0])["short"]), str)
    server.status = 200
    prober.run(key)
    assert (probes(hostile) - before, paused(prober, config)["asleep"]) == (2, 0)
    told = [record.message for record in caplog.records if "naps" in record.name]
    assert told == ["target chat sleeps; it is not probed", "target chat no longer sleeps; it is probed"]


def test_a_target_that_may_be_woken_from_now_on_is_not_shown_as_asleep(hostile: HostileServer, server: Server) -> None:
    config = configured(hostile, server)
    prober = Prober()
    prober.apply(config)
    server.answers, server.status = {"/state": ""}, 503
    prober.run(("chat", "short"))
    assert paused(prober, config)["asleep"] == 1
    woken = parse_config(f"targets: [{{name: chat, url: '{hostile.url('good')}', model: m}}]", "f.yml", {})
    prober.apply(woken)
    assert paused(prober, woken)["asleep"] == 0


def test_what_was_asked_before_a_reload_is_not_shown_of_another_server(
    hostile: HostileServer, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configured(hostile, server)
    elsewhere = parse_config(
        f"targets: [{{name: chat, url: '{hostile.url('no_usage')}', model: m, wake: false, awake_url: 'http://h/x'}}]",
        "f.yml",
        {},
    )
    prober = Prober()
    prober.apply(config)

    def asleep(*_: object) -> bool:
        prober.apply(elsewhere)
        return True

    monkeypatch.setattr(naps, "sleeps", asleep)
    prober.run(("chat", "short"))
    assert (paused(prober, config)["asleep"], paused(prober, elsewhere)["asleep"]) == (1, 0)


def test_a_target_of_which_nothing_is_known_is_left_alone_and_not_shown_as_asleep(
    hostile: HostileServer, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    config = parse_config(
        f"targets: [{{name: chat, url: '{hostile.url('good')}', model: m, wake: false, engine: tgi}}]", "f.yml", {}
    )
    prober = Prober()
    prober.apply(config)
    before = probes(hostile)
    prober.run(("chat", "short"))
    prober.run(("chat", "short"))
    assert probes(hostile) == before
    assert paused(prober, config)["asleep"] == 0
    told = [record.message for record in caplog.records if "nothing tells whether it sleeps" in record.message]
    assert len(told) == 1 and "write awake_url:" in told[0]


def test_a_target_that_may_be_woken_is_not_asked(server: Server) -> None:
    asking = Naps(lambda _: "ollama")
    assert asking.may_probe(target(f"{server.url}/v1"), "m")
    assert server.asked == []


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("awake_url: http://h/x", "targets[0].awake_url: this needs wake: false"),
        ("wake: false", "targets[0].wake: this needs model: with the one that may sleep, or awake_url:"),
        ("wake: false, model: m, awake_text: x", "targets[0].awake_text: this needs awake_url:"),
        ("wake: false, awake_url: 'http://h/x?a b'", "the query of this URL holds a space or a #"),
        ("wake: false, awake_url: h", "is not a URL"),
        ("wake: false, awake_url: 'http://me:pw@h/x'", "a URL must not hold a user or a password"),
    ],
)
def test_what_cannot_work_is_explained(more: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(f"targets: [{{name: chat, url: 'http://h/v1', {more}}}]", "f.yml", {})
    assert sentence in str(caught.value)

"""Which version a target's server gives: where it is asked, with which key, when, and what is made of several."""

from pathlib import Path

import pytest
from hostile import HostileServer
from page_server import Server, serving
from probe_helpers import until

from exporters.probe.exporter import ProbeExporter
from exporters.probe.targets.engine_kinds import EngineKinds
from exporters.probe.targets.versions import AWAKE_SECONDS, RECHECK_SECONDS, ServerVersions, version_at
from inferwatch.config import Config, Target, parse_config
from inferwatch.engines import load_engines

PROPS = {"default_generation_settings": {}, "total_slots": 4}


def config(url: str, *more: str) -> Config:
    return parse_config("\n".join([f"targets:\n- name: chat\n  url: {url}", *(f"  {line}" for line in more)]), "f", {})


class Watched:
    """Versions of the targets of one configuration, on a clock of the test's own."""

    def __init__(self, in_force: Config) -> None:
        self.config = in_force
        self.now = 1000.0
        self.succeeded: float | None = self.now
        self.saw: list[str] = []
        kinds = EngineKinds(lambda: self.now)
        kinds.refresh(in_force)
        self.versions = ServerVersions(
            kinds.of, lambda _: self.succeeded, lambda _, version: self.saw.append(version), lambda: self.now
        )

    def refresh(self, later: float = 0.0, *, succeeded: bool = True) -> list[str]:
        self.versions.apply(self.config)
        self.now += later
        self.succeeded = self.now if succeeded else self.succeeded
        self.versions.refresh(self.config)
        return self.saw


@pytest.mark.parametrize(
    ("engine", "path", "document", "version"),
    [
        ("vllm", "/version", {"version": "0.11.0"}, "0.11.0"),
        ("llamacpp", "/props", PROPS | {"build_info": "b6000-abcdef"}, "b6000-abcdef"),
        ("ollama", "/api/version", {"version": "0.12.3"}, "0.12.3"),
        ("tgi", "/info", {"version": "3.3.4"}, "3.3.4"),
        ("vllm", "/version", {"version": 7}, None),
        ("vllm", "/version", ["0.11.0"], None),
        ("vllm", "/version", {"version": "x" * 500}, None),
        ("lmdeploy", "/version", {"version": "1"}, None),
    ],
)
def test_where_each_engine_says_it(
    server: Server, engine: str, path: str, document: object, version: str | None
) -> None:
    server.pages[path] = document
    (target,) = config(f"{server.url}/v1").targets
    assert version_at(target, target.url, load_engines()[engine]) == version


def test_the_key_goes_to_the_target_alone(server: Server, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-secret")
    with serving() as replica:
        for one in (server, replica):
            one.pages["/version"] = {"version": "0.11.0"}
        (target,) = config(f"{server.url}/v1", f"auth: {{bearer_file: {tmp_path / 'key'}}}").targets
        for url in (f"{server.url}/metrics", f"{replica.url}/metrics"):
            assert version_at(target, url, load_engines()["vllm"]) == "0.11.0"
        assert server.asked == [("/version", "Bearer sk-secret")]
        assert replica.asked == [("/version", None)]


def test_it_is_asked_now_and_then_and_only_after_a_success(server: Server) -> None:
    server.pages["/version"] = {"version": "0.11.0"}
    watched = Watched(config(f"{server.url}/v1", "engine: vllm"))
    assert watched.refresh() == ["0.11.0"]
    assert watched.refresh(RECHECK_SECONDS - 1) == ["0.11.0"]
    # It may sleep by now.
    assert watched.refresh(AWAKE_SECONDS + 1, succeeded=False) == ["0.11.0"]
    assert server.times("/version") == 1
    server.pages["/version"] = {"version": "0.12.0"}
    assert watched.refresh() == ["0.11.0", "0.12.0"]


def test_another_address_is_asked_at_once(server: Server) -> None:
    server.pages["/version"] = {"version": "0.11.0"}
    watched = Watched(config(f"{server.url}/v1", "engine: vllm"))
    watched.refresh()
    with serving() as other:
        other.pages["/version"] = {"version": "0.12.0"}
        watched.config = config(f"{other.url}/v1", "engine: vllm")
        assert watched.refresh(1) == ["0.11.0", "0.12.0"]


def test_another_api_at_the_same_address_is_asked_at_once(server: Server) -> None:
    # What was known of it is forgotten when the API is another one.
    server.pages["/version"] = {"version": "0.11.0"}
    watched = Watched(config(f"{server.url}/v1", "engine: vllm"))
    watched.refresh()
    watched.config = config(f"{server.url}/v1", "engine: vllm", "api: openai-completions")
    assert watched.refresh(1) == ["0.11.0", "0.11.0"]


def test_a_server_that_comes_back_is_asked_at_once(server: Server) -> None:
    # Its identity was forgotten with it, however short the time between.
    server.pages["/version"] = {"version": "0.11.0"}
    watched = Watched(config(f"{server.url}/v1", "engine: vllm"))
    watched.refresh()
    watched.versions.apply(Config())
    assert watched.refresh(1) == ["0.11.0", "0.11.0"]


def test_before_a_first_success_nothing_is_asked(server: Server) -> None:
    watched = Watched(config(f"{server.url}/v1", "engine: vllm"))
    watched.succeeded = None
    assert watched.refresh(succeeded=False) == [] and server.asked == []


def test_replicas_of_several_versions_are_joined_and_one_that_is_down_keeps_its_own(server: Server) -> None:
    with serving() as other:
        urls = [f"{one.url}/metrics" for one in (server, other)]
        server.pages["/version"], other.pages["/version"] = {"version": "0.12.0"}, {"version": "0.11.0"}
        watched = Watched(config("http://127.0.0.1:9/v1", "engine: vllm", f"metrics: {urls}"))
        assert watched.refresh() == ["0.11.0, 0.12.0"]
    assert watched.refresh(RECHECK_SECONDS)[1:] == ["0.11.0, 0.12.0"]
    with serving() as third:
        third.pages["/version"] = {"version": "0.12.0"}
        urls[1] = f"{third.url}/metrics"
        watched.config = config("http://127.0.0.1:9/v1", "engine: vllm", f"metrics: {urls}")
        assert watched.refresh(RECHECK_SECONDS)[2:] == ["0.12.0"]


def test_an_engine_that_is_not_known_yet_is_asked_once_it_is(server: Server) -> None:
    watched = Watched(config(f"{server.url}/v1"))
    assert watched.refresh() == []
    server.pages |= {"/props": PROPS | {"build_info": "b6000"}}
    kinds = EngineKinds(lambda: 0.0)
    kinds.refresh(watched.config)
    watched.versions._engines = kinds.of
    assert watched.refresh() == ["b6000"]


def test_one_target_that_cannot_be_dealt_with_keeps_no_other_from_being_asked(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.pages["/version"] = {"version": "0.11.0"}
    targets = [{"name": name, "url": f"{server.url}/v1", "engine": "vllm"} for name in ("a", "b", "c")]
    watched = Watched(parse_config(f"targets: {targets}", "f", {}))
    saw: list[str] = []

    def fail_at_a(target: Target, version: str) -> None:
        if target.name == "a":
            raise KeyError("a bug")
        saw.append(target.name)

    watched.versions._saw = fail_at_a
    watched.refresh()
    watched.refresh(RECHECK_SECONDS)
    assert sorted(saw) == ["b", "b", "c", "c"]
    told = [record for record in caplog.records if "asking target a for its version" in record.getMessage()]
    assert len(told) == 1


def test_the_exporter_shows_it(tmp_path: Path, hostile: HostileServer) -> None:
    file = tmp_path / "inferwatch.yml"
    with serving() as engine:
        engine.pages["/version"] = {"version": "0.11.0"}
        where = f"url: '{hostile.url('good')}', model: m, engine: vllm, metrics: ['{engine.url}/metrics']"
        file.write_text(f"prober: {{max_lag: 1m}}\ntargets: [{{name: chat, {where}}}]\n")
        running = ProbeExporter(file, None, "127.0.0.1:0")
        running.start()
        try:
            identities = running._prober.identities
            until(lambda: identities.all().get(("chat", "m")), "a probe")
            until(lambda: identities.all()["chat", "m"].names["server_version"] == "0.11.0", "the version")
        finally:
            running.stop()


def test_a_version_that_was_asked_for_before_a_reload_is_not_another_servers(
    tmp_path: Path, hostile: HostileServer
) -> None:
    file = tmp_path / "inferwatch.yml"
    file.write_text("targets: []\n")
    running = ProbeExporter(file, None, "127.0.0.1:0")
    known = running._prober.identities

    def edit(behaviour: str) -> Target:
        file.write_text(f"targets: [{{name: chat, url: '{hostile.url(behaviour)}', model: m}}]\n")
        assert running.keeper.reload() is None
        running._prober.run(("chat", "short"))
        assert running.keeper.config is not None
        return running.keeper.config.targets[0]

    running.start()
    try:
        before = edit("good")
        running._saw_version(before, "0.11.0")
        assert known.all()["chat", "m"].names["server_version"] == "0.11.0"
        edit("no_usage")
        running._saw_version(before, "0.11.0")
        assert known.all()["chat", "m"].names["server_version"] == ""
    finally:
        running.stop()

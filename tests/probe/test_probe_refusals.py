"""What targets refuse is remembered across restarts, for a while, and only as long as it is about the same server."""

import json
from pathlib import Path

import pytest
from hostile import HostileServer

from exporters.probe.exporter import ProbeExporter
from exporters.probe.scheduling.refusals import FILE_NAME, VALID_SECONDS, Refusals
from inferwatch.config import Target

CHAT = Target(name="chat", url="http://one/v1")


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def other(**changed: str) -> Target:
    return CHAT.model_copy(update=changed)


def test_a_refusal_belongs_to_one_server_and_model() -> None:
    refusals = Refusals()
    assert refusals.add(CHAT, "m", "temperature") and not refusals.add(CHAT, "m", "temperature")
    assert refusals.of(CHAT, "m") == {"temperature"}
    assert not refusals.of(CHAT, "other")
    for changed in (other(url="http://two/v1"), other(api="openai-completions"), other(engine="vllm")):
        assert not refusals.of(changed, "m")
    assert refusals.of(other(interval="7s"), "m") == {"temperature"}


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        (CHAT, True),
        (other(model="m"), True),
        (other(model="n"), False),
        (other(url="http://two/v1"), False),
        (other(name="x"), False),
    ],
)
def test_an_edit_of_the_target_drops_what_was_shown_of_it(target: Target, kept: bool) -> None:
    refusals = Refusals()
    refusals.add(CHAT, "m", "temperature")
    refusals.apply([target])
    assert bool(refusals.by_target()) is kept


def test_a_restart_remembers_and_a_week_forgets(tmp_path: Path) -> None:
    clock = Clock()
    before = Refusals(clock, tmp_path)
    before.add(CHAT, "m", "max_tokens")
    clock.now += VALID_SECONDS / 2
    before.add(CHAT, "m", "temperature")
    before.save()
    after = Refusals(clock, tmp_path)
    after.apply([CHAT])
    assert after.by_target() == {"chat": {"max_tokens", "temperature"}}
    clock.now += VALID_SECONDS / 2
    assert after.of(CHAT, "m") == {"temperature"} and after.by_target() == {"chat": {"temperature"}}
    # It is found out again, and told again.
    assert after.add(CHAT, "m", "max_tokens")
    clock.now = 0.0
    assert not after.by_target()


LATE = {"target": "chat", "url": "u", "api": "a", "engine": "e", "model": "m", "parameter": "store", "since": 10**400}


@pytest.mark.parametrize(
    "text", ["", "{", "7", '{"chat": 1}', "[7]", '[{"target": "chat"}]', "\0", "[" * 9999, json.dumps([LATE])]
)
def test_a_broken_file_is_told_and_found_out_again(tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    assert not Refusals(Clock(), tmp_path).by_target()
    assert "is found out again" in caplog.text


def test_a_parameter_that_this_version_does_not_know_is_left_out(tmp_path: Path) -> None:
    refusals = Refusals(Clock(), tmp_path)
    refusals.add(CHAT, "m", "temperature")
    refusals.save()
    file = tmp_path / FILE_NAME
    file.write_text(file.read_text().replace("temperature", "from_the_future"))
    assert not Refusals(Clock(), tmp_path).by_target()


def test_the_exporter_keeps_them_when_it_ends(tmp_path: Path, hostile: HostileServer) -> None:
    file = tmp_path / "inferwatch.yml"
    file.write_text(f"targets: [{{name: chat, url: '{hostile.url('picky')}', model: m}}]\n")
    running = ProbeExporter(file, tmp_path / "state", "127.0.0.1:0")
    running.start()
    try:
        running._prober.run(("chat", "short"))
    finally:
        running.stop()
    kept = json.loads((tmp_path / "state" / FILE_NAME).read_text())
    assert {one["parameter"] for one in kept} == {"stream_options", "max_tokens", "temperature"}

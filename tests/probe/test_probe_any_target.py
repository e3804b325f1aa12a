"""`/probe` of URLs that no configuration names: only where it is allowed, without keys, and within one allowance."""

import subprocess
import sys
from pathlib import Path

import pytest
import requests
from hostile import HostileServer
from test_probe_oneshot import SECRET, probes, shown

from exporters.probe.exporter import ProbeExporter
from exporters.probe.scheduling.prober import Prober
from exporters.probe.views import oneshot
from exporters.probe.views.any_target import FILE_NAME, AnyTarget, target_of
from exporters.probe.views.oneshot import OneShots
from inferwatch.config import parse_config
from inferwatch.errors import ConfigError
from inferwatch.exposition import Request, Response


class Asked:
    """A `/probe` that may probe any URL for so many tokens a day; one target is configured, with a key."""

    def __init__(self, folder: Path, hostile: HostileServer, tokens: int = 100_000) -> None:
        (folder / "key").write_text(SECRET)
        auth = f"auth: {{bearer_file: {folder / 'key'}}}"
        text = f"targets: [{{name: chat, url: '{hostile.url('good')}', model: m, scenarios: [own], {auth}}}]"
        self.config = parse_config(text + "\nscenarios: {own: {prompt: the prompt, max_tokens: 64}}", "f", {})
        self.prober = Prober()
        self.prober.apply(self.config)
        # Always the same moment of a day, so that no test meets midnight.
        self.any_target = AnyTarget(tokens, folder, lambda: 1_800_000_000.0)
        self.shots = OneShots(lambda: self.config, self.prober, self.any_target)

    def __call__(self, target: str, **more: str) -> Response:
        return self.shots.answer(Request({name: [value] for name, value in ({"target": target} | more).items()}))


@pytest.fixture
def asked(tmp_path: Path, hostile: HostileServer) -> Asked:
    hostile.requests.clear()
    return Asked(tmp_path, hostile)


def test_a_url_is_probed_without_any_key_and_shared(asked: Asked, hostile: HostileServer) -> None:
    url = hostile.url("good")
    first = shown(asked(url, model="m"))
    assert (first["probe_success"], first["probe_llm_output_tokens"]) == (1, 5)
    shown(asked(url, model="m"))
    assert probes(hostile) == 1
    # Another model is another question; and the target of the file has the same URL and yet is another one.
    for model in ("n", "m", "n"):
        shown(asked(url, model=model))
    shown(asked("chat"))
    assert probes(hostile) == 3
    sent = [peer.headers.get("authorization") for peer in hostile.requests if peer.method == "POST"]
    assert sent == [None, None, f"Bearer {SECRET}"]
    # What the schedule counts is not touched but by the configured one.
    assert asked.prober.records()["chat", "own"].snapshot()[1].output_tokens == 5


def test_without_a_model_the_first_that_is_listed_is_asked(asked: Asked, hostile: HostileServer) -> None:
    answer = asked(hostile.url("good"))
    assert shown(answer)["probe_success"] == 1 and 'model_name="' in answer.body
    assert {peer.method for peer in hostile.requests} == {"GET", "POST"}


@pytest.mark.parametrize("quotes", [False, True])
def test_debug_explains_it_and_quotes_nothing(asked: Asked, hostile: HostileServer, quotes: bool) -> None:
    """Also where the exporter quotes what its own targets say: this may be a service that only it reaches."""
    asked.shots = OneShots(lambda: asked.config, asked.prober, asked.any_target, quotes=quotes)
    assert ("the prompt" in asked("chat", debug="1").body) == quotes
    page = asked(hostile.url("good"), model="m", debug="1").body
    assert "outcome success" in page and hostile.url("good") in page
    for hidden in ("Count from", "three", SECRET):
        assert hidden not in page


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ({"target": "http://host"}, "chat"),
        ({"target": "file:///etc/passwd"}, "target= cannot be probed: url: "),
        ({"target": "http://user:secret@host/v1"}, "target= cannot be probed: url: a URL must not hold a user"),
        ({"target": "http://host/v1/chat/completions"}, "write the base URL"),
        ({"target": "http://host/v1", "api": "soap"}, "target= cannot be probed: api: "),
        ({"target": "other"}, "or a URL such as"),
        ({"target": "http://host/v1", "scenario": "none"}, "scenario= must be one of"),
    ],
)
def test_what_is_no_url_is_refused_in_one_sentence(asked: Asked, query: dict[str, str], part: str) -> None:
    if query == {"target": "http://host"}:
        asked.shots = OneShots(lambda: asked.config, asked.prober)
    answer = asked(**query)
    assert answer.status == 400 and part in answer.body
    assert answer.body.count("\n") == 1 and "secret" not in answer.body


def test_one_allowance_for_all_urls_across_a_restart(tmp_path: Path, hostile: HostileServer) -> None:
    # A prompt of 55 characters is about 14 tokens, 78 with the answer; a probe uses 11 and 5 by the server's count.
    asked = Asked(tmp_path, hostile, tokens=100)
    assert shown(asked(hostile.url("good"), model="a"))["probe_success"] == 1
    assert shown(asked(hostile.url("good"), model="b"))["probe_success"] == 1
    refused = asked(hostile.url("good"), model="c")
    sentence = (
        "of the 100 tokens of --probe.allow-any-target 68 are left for today (UTC), and one probe of 'short' may use"
    )
    assert (refused.status, refused.body) == (503, f"{sentence} 78 tokens\n")
    asked.any_target.save()
    assert (tmp_path / FILE_NAME).exists()
    assert Asked(tmp_path, hostile, tokens=100)(hostile.url("good"), model="c").status == 503
    # The target of the file is paid by its own budget.
    assert shown(asked("chat"))["probe_success"] == 1


def test_retry_after_is_respected_by_url(asked: Asked, hostile: HostileServer) -> None:
    limited = hostile.url("limited")
    assert shown(asked(limited, model="m"))["probe_success"] == 0
    assert "asked to be left alone" in asked(limited, model="m", debug="1").body
    assert shown(asked(hostile.url("good"), model="m"))["probe_success"] == 1


def test_made_up_urls_do_not_add_up(asked: Asked, hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oneshot, "MOST_RESULTS_OF_URLS", 2)
    asked("chat")
    for name in "abcde":
        shown(asked(hostile.url("good"), model=name))
    # The last one is added after the others were looked through.
    assert len(asked.shots._results) <= 1 + 2 + 1 and ("chat", "own") in asked.shots._results
    assert len(asked.shots._running) <= 4
    hostile.requests.clear()
    asked(hostile.url("good"), model="e")
    assert probes(hostile) == 0


def test_a_target_is_called_as_its_url() -> None:
    target = target_of("http://10.0.0.7:8000/v1/", "", "")
    assert (target.name, target.url, target.model, target.auth) == ("http://10.0.0.7:8000/v1",) * 2 + (None, None)
    with pytest.raises(ConfigError, match=r"^url: "):
        target_of("ftp://host", "", "")


@pytest.mark.parametrize(("tokens", "status"), [(0, 400), (1000, 200)])
def test_it_is_off_without_the_flag(tmp_path: Path, hostile: HostileServer, tokens: int, status: int) -> None:
    (tmp_path / "inferwatch.yml").write_text("")
    running = ProbeExporter(tmp_path / "inferwatch.yml", None, "127.0.0.1:0", any_target_tokens=tokens)
    running.start()
    try:
        query = {"target": hostile.url("good"), "model": "m"}
        assert requests.get(f"http://{running.address}/probe", params=query, timeout=30).status_code == status
    finally:
        running.stop()


def test_the_flag_wants_a_number() -> None:
    command = [sys.executable, "-m", "exporters.probe", "--probe.allow-any-target=yes"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2 and "'yes' is not a number of tokens, such as 100000" in ended.stderr


def test_an_allowance_below_one_probe_is_said_to_be_too_small(tmp_path: Path, hostile: HostileServer) -> None:
    hostile.requests.clear()
    asked = Asked(tmp_path, hostile, tokens=50)
    refused = asked(hostile.url("good"), model="m")
    sentence = "one probe of 'short' may use 78 tokens, more than the 50 of --probe.allow-any-target; allow more"
    assert (refused.status, refused.body, probes(hostile)) == (503, f"{sentence}\n", 0)

"""What a person may see of a probe: all that was said where it was asked for, and a secret of ours nowhere.

The server of these tests does its worst: it echoes the key that it was sent wherever it can.
"""

import json
import logging
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests
from probe_helpers import until

from exporters.probe.exporter import ProbeExporter
from exporters.probe.scheduling.prober import Prober
from exporters.probe.views.oneshot import OneShots
from inferwatch.config import parse_config
from inferwatch.exposition import Request
from stack.probe_now import probe_now

SECRET = "sk-Very-Secret-4711-Key"
PROMPT = "Say the magic word."


class Echo(BaseHTTPRequestHandler):
    """Echoes the key in its answer; the path says where else."""

    def do_GET(self) -> None:
        key = self.key()
        if self.path.startswith("/loading"):
            self.answer(503, {"error": {"message": f"Loading model for {key}"}})
            return
        name = key if self.path.startswith("/listed") else "m"
        self.answer(200, {"data": [{"id": name, "owned_by": key}], "version": key})

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        key, way = self.key(), self.path.split("/")[1]
        if way == "refusal":
            error = {"message": f"{key} may not say {asked}", "code": key}
            self.answer(400, {"error": error})
        elif way == "redirect":
            self.answer(307, {}, {"Location": f"http://h/{key}?k={key}"})
        elif way == "document":
            self.answer(200, {"error": {"message": asked, "type": key}})
        elif way == "page":
            self.answer(200, f"<p>{key}</p>", {"Content-Type": "text/html"})
        else:
            self.stream(key, asked, way)

    def stream(self, key: str, asked: str, way: str) -> None:
        self.send_response(200)
        for name, value in (("Content-Type", "text/event-stream"), ("X-Key", key), ("Set-Cookie", "session=cookie-1")):
            self.send_header(name, value)
        self.end_headers()
        pieces = ["magic ", "\x1b[31mred\u202e ", *key, " word ", key, f" {asked} ", key[:12]]
        for place, piece in enumerate(pieces):
            channel = "reasoning_content" if way == "interleaved" and place % 2 else "content"
            self.event({"model": key, "system_fingerprint": key, "choices": [{"delta": {channel: piece}}]})
        if way == "broken":
            self.event({"error": {"message": key, "code": key}})
        self.event({"choices": [{"delta": {}, "finish_reason": key if way == "reason" else "stop"}]})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, data: object) -> None:
        self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())

    def answer(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        text = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in (
            {"Content-Type": "application/json", "Content-Length": str(len(text))} | (headers or {})
        ).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def key(self) -> str:
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def log_message(self, format: str, *args: object) -> None:
        pass


WAYS = ("plain", "interleaved", "reason", "broken", "refusal", "redirect", "document", "page")


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def text_of(folder: Path, echo: str, way: str) -> str:
    (folder / "key").write_text(SECRET)
    where = f"name: chat, url: '{echo}/{way}/v1', engine: vllm, auth: {{bearer_file: {folder / 'key'}}}"
    scenario = f"short: {{prompt: {json.dumps(PROMPT)}, max_tokens: 64}}"
    return f"prober: {{max_lag: 1m}}\ntargets: [{{{where}}}]\nscenarios: {{{scenario}}}\n"


def holds_secret(text: str) -> bool:
    """Say whether a text holds the key, or so much of its beginning that the rest is guessed."""
    return SECRET.lower() in text.lower() or SECRET[:12].lower() in text.lower()


def page(folder: Path, echo: str, way: str, *, quotes: bool) -> str:
    config = parse_config(text_of(folder, echo, way), "f", {})
    prober = Prober()
    prober.apply(config)
    shots = OneShots(lambda: config, prober, quotes=quotes)
    return shots.answer(Request({"target": ["chat"], "debug": ["1"]})).body


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("quotes", [False, True])
def test_an_explanation_holds_no_secret(tmp_path: Path, echo: str, way: str, quotes: bool) -> None:
    shown = page(tmp_path, echo, way, quotes=quotes)
    assert not holds_secret(shown), shown
    assert str(tmp_path) not in shown and "cookie-1" not in shown
    assert ("magic" in shown) == quotes, shown


def test_what_was_said_is_quoted_where_that_is_asked_for(tmp_path: Path, echo: str) -> None:
    shown = page(tmp_path, echo, "plain", quotes=True)
    for part in (
        f"request: POST {echo}/plain/v1/chat/completions",
        "Authorization: [secret]",
        f'"content": "{PROMPT}"',
        "answer: 200",
        "X-Key: [secret]",
        "content (6 characters): 'magic '",
        "content (1 characters): '[secret]'",
        "outcome success",
    ):
        assert part in shown, shown


def test_a_refusal_is_quoted_with_its_reason(tmp_path: Path, echo: str) -> None:
    shown = page(tmp_path, echo, "refusal", quotes=True)
    assert "answer: 400" in shown and "[secret] may not say " in shown
    assert "outcome http_4xx: the server refused the request with 400" in shown


def test_a_list_of_models_that_is_refused_is_quoted(tmp_path: Path, echo: str) -> None:
    config = parse_config(text_of(tmp_path, echo, "loading"), "f", {})
    prober = Prober()
    prober.apply(config)
    shots = OneShots(lambda: config, prober, quotes=True)
    shown = shots.answer(Request({"target": ["chat"], "debug": ["1"]})).body
    assert f"request: GET {echo}/loading/v1/models" in shown and "answer: 503" in shown, shown
    assert "Loading model" in shown and not holds_secret(shown)


@pytest.mark.parametrize("way", [*WAYS, "listed"])
def test_neither_series_nor_log_nor_pages_hold_a_secret(
    tmp_path: Path, echo: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "inferwatch.yml").write_text(text_of(tmp_path, echo, way))
    running = ProbeExporter(tmp_path / "inferwatch.yml", tmp_path / "state", "127.0.0.1:0")
    running.start()
    try:
        until(lambda: running._prober.history.of(("chat", "short")), "a probe")
        running._refresh()
        for path in ("/metrics", "/targets", "/targets?name=chat", "/sd/engines", "/probe?target=chat"):
            text = requests.get(f"http://{running.address}{path}", timeout=30).text
            assert not holds_secret(text), (path, text)
            assert PROMPT not in text
    finally:
        running.stop()
    assert not holds_secret(caplog.text) and PROMPT not in caplog.text
    for file in (tmp_path / "state").iterdir():
        assert not holds_secret(file.read_text())


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_the_command_shows_it_too(
    tmp_path: Path, echo: str, way: str, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "inferwatch.yml").write_text(text_of(tmp_path, echo, way))
    probe_now(tmp_path / "inferwatch.yml", "chat", as_json)
    quiet = capsys.readouterr()
    probe_now(tmp_path / "inferwatch.yml", "chat", as_json, debug=True)
    shown = capsys.readouterr()
    for text in (quiet.out, quiet.err, shown.out, shown.err):
        assert not holds_secret(text), text
    assert PROMPT not in quiet.out + quiet.err
    assert PROMPT in (shown.err if as_json else shown.out)
    if as_json:
        json.loads(shown.out)


def test_control_characters_of_a_server_do_not_reach_the_terminal(tmp_path: Path, echo: str) -> None:
    shown = page(tmp_path, echo, "plain", quotes=True)
    assert "red" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.parametrize("flags", [[], ["--debug"]])
def test_the_exporter_quotes_only_where_it_is_started_so(tmp_path: Path, echo: str, flags: list[str]) -> None:
    (tmp_path / "inferwatch.yml").write_text(text_of(tmp_path, echo, "plain"))
    command = [sys.executable, "-m", "exporters.probe", "--web.listen-address=127.0.0.1:0", *flags]
    command += [f"--config.file={tmp_path / 'inferwatch.yml'}", f"--state.dir={tmp_path / 'state'}"]
    log = tmp_path / "log"
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:
        try:
            listening = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")
            url = until(lambda: listening.search(log.read_text()), "it listens").group(1)
            shown = requests.get(f"{url}/probe?target=chat&debug=1", timeout=60).text
        finally:
            process.terminate()
    assert "outcome success" in shown and (PROMPT in shown) == bool(flags)
    assert not holds_secret(shown) and not holds_secret(log.read_text()) and PROMPT not in log.read_text()

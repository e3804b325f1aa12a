"""What a server says cannot steer the terminal of whoever reads it, wherever in its answer it says it.

The server of these tests puts an escape sequence, a bell, a line end and a turn of the writing direction into one thing
that it can name.
"""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from exporters.probe.scheduling.prober import Prober
from exporters.probe.views.oneshot import OneShots
from inferwatch.config import parse_config
from inferwatch.exposition import Request
from stack.check import check
from stack.probe_now import probe_now

# Headers carry bytes of Latin-1 and no line ends; \x9b alone begins a sequence on some terminals.
IN_HEADER = "wild\x1b[2J\x07\x9b2J"
WILD = IN_HEADER + "\noutcome success\u202e"
# What the server names, and whether that is shown at all.
SHOWN = {
    "type": True,
    "location": True,
    "header": True,
    "text": True,
    "tool": True,
    "refusal": True,
    "page": True,
    "model": False,
    "finish": False,
    "error": False,
    "fingerprint": False,
    "version": False,
}


class Wild(BaseHTTPRequestHandler):
    """The path says where the wild words stand."""

    def do_GET(self) -> None:
        said = self.path.split("/")[1]
        if self.path.endswith("/version"):
            self.answer(200, {"version": WILD})
            return
        self.answer(200, {"data": [{"id": WILD if said == "model" else "m", "owned_by": WILD}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        said = self.path.split("/")[1]
        if said == "type":
            self.answer(200, "nothing", {"Content-Type": f"text/{IN_HEADER}"})
        elif said == "location":
            self.answer(307, {}, {"Location": f"http://h/{IN_HEADER}/v1"})
        elif said == "refusal":
            self.answer(400, {"error": {"message": WILD, "code": WILD}})
        elif said == "page":
            self.answer(400, f"<p>{WILD}", {"Content-Type": "text/html"})
        else:
            self.stream(said)

    def stream(self, said: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        if said == "header":
            self.send_header("X-Word", IN_HEADER)
        self.end_headers()

        def word(place: str, usual: str) -> str:
            return WILD if said == place else usual

        call = {"index": 0, "function": {"name": word("tool", "f"), "arguments": word("tool", "{}")}}
        names = {"model": word("fingerprint", "m"), "system_fingerprint": word("fingerprint", "fp_1")}
        self.event(names | {"choices": [{"delta": {"content": word("text", "a text")}}]})
        self.event(names | {"choices": [{"delta": {"tool_calls": [call]}}]})
        if said == "error":
            self.event({"error": {"message": WILD, "code": WILD, "type": WILD}})
        self.event({"choices": [{"delta": {}, "finish_reason": word("finish", "stop")}]})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, data: object) -> None:
        self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())

    def answer(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        text = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        own = {"Content-Type": "application/json", "Content-Length": str(len(text))}
        for name, value in (own | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def wild() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Wild) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def config(tmp_path: Path, wild: str, said: str) -> Path:
    file = tmp_path / "inferwatch.yml"
    model = "" if said == "model" else "model: m, "
    file.write_text(
        f"prober: {{max_lag: 1m}}\ntargets: [{{name: chat, url: '{wild}/{said}/v1', {model}engine: vllm}}]\n"
    )
    return file


def steers(text: str) -> bool:
    return not all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("said", SHOWN)
def test_the_command_prints_it_harmlessly(
    config: Path, said: str, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    probe_now(config, "chat", as_json)
    quiet = capsys.readouterr()
    probe_now(config, "chat", as_json, debug=True)
    debug = capsys.readouterr()
    for text in (quiet.out, quiet.err, debug.out, debug.err):
        assert not steers(text), text
        # Nor does a line end let a server write lines of its own.
        assert "\noutcome success\n" not in text or said not in ("type", "location", "refusal", "page")
    explanation = debug.err if as_json else debug.out
    assert ("wild" in explanation) >= SHOWN[said], explanation
    if as_json:
        json.loads(quiet.out)
        json.loads(debug.out)


@pytest.mark.parametrize("said", SHOWN)
def test_the_page_and_the_check_do_too(config: Path, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    in_force = parse_config(config.read_text(), "f", {})
    prober = Prober()
    prober.apply(in_force)
    shots = OneShots(lambda: in_force, prober, quotes=True)
    assert not steers(shots.answer(Request({"target": ["chat"], "debug": ["1"]})).body)
    check(config)
    captured = capsys.readouterr()
    assert not steers(captured.out) and not steers(captured.err)

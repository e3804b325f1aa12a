"""`inferwatch probe` against a real streaming server: what a person reads, what a script reads, exit codes."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from exporters.probe.asking.lag import MONITOR
from exporters.probe.metrics import OUTCOMES, PHASES, SERVER_PHASES
from stack.probe_now import probe_now

WORDS = ("one", ", two", ", three", ", four")


class Chat(BaseHTTPRequestHandler):
    """Streams four tokens with usage, each in its own write, the last ones after a pause."""

    status = 200
    usage = True
    version = ""
    words = WORDS

    def do_GET(self) -> None:
        if self.path == "/version" and self.version:
            self._send_json({"version": self.version})
            return
        self._send_json({"data": [{"id": "first-model"}, {"id": "second-model"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.status != 200:
            self._send_json({"error": {"message": "no", "type": "broken"}}, self.status)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for word in self.words:
            self._event({"choices": [{"index": 0, "delta": {"content": word}}]})
            # Without a pause the stream would arrive all at once and have no TPOT; its length does not matter.
            threading.Event().wait(0.02)
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        if self.usage:
            self._event({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, data: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def _send_json(self, data: object, status: int = 200) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def chatting(**behaviour: object) -> Iterator[str]:
    handler = type("Handler", (Chat,), behaviour)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "inferwatch.yml"


def write(config: Path, text: str) -> None:
    """Write a configuration in which no probe is tainted, however busy the machine of the tests is."""
    config.write_text(f"prober: {{max_lag: 1m}}\n{text}")


def test_a_good_probe_is_explained(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chatting() as url:
        write(config, f"targets: [{{name: chat, url: '{url}', slo: {{ttft: {{threshold: 30s}}}}}}]")
        assert probe_now(config, "chat", as_json=False) == 0
    out = capsys.readouterr().out
    assert out.startswith("chat / short: success\n")
    assert "  model     first-model\n" in out
    assert "  tokens    4 output tokens, counted by the server; 9 prompt tokens\n" in out
    assert "  finish    stop\n" in out
    assert "is within its objective of 30s" in out
    for line in ("TTFT", "TPOT", "E2E", "connect", "wait for the first event"):
        assert line in out


def test_json_is_one_list(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chatting() as url:
        write(config, f"targets: [{{name: chat, url: '{url}', model: m}}]")
        assert probe_now(config, "chat", as_json=True) == 0
    (item,) = json.loads(capsys.readouterr().out)
    assert item["target"] == "chat"
    assert item["scenario"] == "short"
    assert item["model_name"] == "m"
    assert item["success"] is True
    assert item["outcome"] in OUTCOMES
    assert item["output_tokens"] == 4
    assert item["token_source"] == "usage"
    assert 0 < item["ttft_seconds"] < item["e2e_seconds"]
    assert item["tpot_seconds"] > 0
    assert set(item["phases"]) <= set(PHASES)


SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "probe-result.schema.json").read_text())
CHECKED = "scenarios: {short: {prompt: p, max_tokens: 8, checks: {text: %s}}}"


def items(config: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    probe_now(config, None, as_json=True)
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    # Each field that is printed is described; a script may rely on every one that is.
    assert all(set(item) == set(SCHEMA["items"]["properties"]) for item in found)
    return found


@pytest.mark.parametrize(
    ("status", "rest", "expected"),
    [
        (
            200,
            "",
            {"outcome": "success", "status_code": 200, "finish_reason": "stop", "checks_passed": None, "primed": None},
        ),
        (200, CHECKED % "three", {"outcome": "success", "checks_passed": True}),
        (200, CHECKED % "five", {"outcome": "check_failed", "checks_passed": False, "finish_reason": "stop"}),
        (200, CHECKED.replace("p,", "p, primed: true,") % "one", {"primed": True, "output_tokens": 4}),
        (429, CHECKED % "three", {"outcome": "rate_limited", "status_code": 429, "checks_passed": None}),
        (500, "", {"outcome": "http_5xx", "output_tokens": None, "finish_reason": None, "server_version": None}),
    ],
)
def test_items_are_what_the_schema_says(
    config: Path, capsys: pytest.CaptureFixture[str], status: int, rest: str, expected: dict[str, object]
) -> None:
    with chatting(status=status) as url:
        write(config, f"targets: [{{name: chat, url: '{url}', model: m}}]\n{rest}\n")
        (item,) = items(config, capsys)
    assert {name: item[name] for name in expected} == expected


def test_a_server_that_is_down_is_an_item_too(config: Path, capsys: pytest.CaptureFixture[str], free_port: int) -> None:
    write(config, f"targets: [{{name: chat, url: 'http://127.0.0.1:{free_port}/v1'}}]")
    (item,) = items(config, capsys)
    assert (item["outcome"], item["status_code"], item["model_name"]) == ("connect", None, "")


def test_the_schema_lists_what_there_is() -> None:
    fields = SCHEMA["items"]["properties"]
    assert SCHEMA["items"]["required"] == list(fields)
    assert fields["outcome"]["enum"] == list(OUTCOMES)
    assert fields["phases"]["propertyNames"]["enum"] == list(PHASES)
    assert fields["server_seconds"]["propertyNames"]["enum"] == list(SERVER_PHASES)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([dict.fromkeys(fields)], SCHEMA)


def test_the_version_of_the_server_is_told(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chatting(version="0.11.0") as url:
        write(config, f"targets: [{{name: chat, url: '{url}', model: m, engine: vllm}}]")
        (item,) = items(config, capsys)
        assert item["server_version"] == "0.11.0"
        probe_now(config, "chat", as_json=False)
    assert "chat: its server is of version 0.11.0" in capsys.readouterr().out


def test_tokens_counted_by_chunks_are_said_to_be(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chatting(usage=False) as url:
        write(config, f"targets: [{{name: chat, url: '{url}'}}]")
        probe_now(config, "chat", as_json=False)
    assert "counted by chunks, as the server sends no usage" in capsys.readouterr().out


def test_an_objective_that_is_missed_is_said(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chatting() as url:
        write(config, f"targets: [{{name: chat, url: '{url}', slo: {{e2e: {{threshold: 1ms}}}}}}]")
        assert probe_now(config, "chat", as_json=False) == 0
    assert "is over its objective of 1ms" in capsys.readouterr().out


def test_a_failed_probe_exits_with_1_and_says_why(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chatting(status=500) as url:
        write(config, f"targets: [{{name: chat, url: '{url}'}}]")
        assert probe_now(config, "chat", as_json=False) == 1
        assert probe_now(config, "chat", as_json=True) == 1
    out = capsys.readouterr().out
    assert out.startswith("chat / short: failed (http_5xx)\n  the server failed with 500")
    assert json.loads(out[out.index("[\n") :])[0]["success"] is False


def test_a_server_that_is_not_there(config: Path, free_port: int, capsys: pytest.CaptureFixture[str]) -> None:
    write(config, f"targets: [{{name: chat, url: 'http://127.0.0.1:{free_port}/v1'}}]")
    assert probe_now(config, "chat", as_json=True) == 1
    (item,) = json.loads(capsys.readouterr().out)
    assert (item["outcome"], item["ttft_seconds"], item["model_name"]) == ("connect", None, "")


def test_without_a_name_every_target_and_scenario_is_probed(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chatting() as url:
        write(
            config,
            f"targets:\n- {{name: a, url: '{url}', scenarios: [short, other]}}\n- {{name: b, url: '{url}'}}\n"
            "scenarios: {other: {prompt: Hello, max_tokens: 8}}\n",
        )
        assert probe_now(config, None, as_json=True) == 0
    items = json.loads(capsys.readouterr().out)
    assert [(item["target"], item["scenario"]) for item in items] == [("a", "short"), ("a", "other"), ("b", "short")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "targets: [{name: a, url: http://h/v1}, {name: b, url: http://h/v1}]",
            "{file}: there is no target 'chat'; it has: a, b",
        ),
        ("targets: []", "{file}: lists no target; add one under targets:, or set INFERWATCH_TARGET_URL"),
        ("targets: [{name: a}]", "inferwatch.yml:2: targets[0].url: this key is required"),
    ],
)
def test_what_cannot_be_probed_exits_with_2_and_prints_no_json(
    text: str, problem: str, config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INFERWATCH_TARGET_URL", raising=False)
    write(config, text)
    assert probe_now(config, "chat", as_json=True) == 2
    captured = capsys.readouterr()
    assert captured.err == problem.replace("{file}", str(config)) + "\n"
    assert captured.out == ""


def test_a_target_that_may_sleep_is_woken_only_by_name(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chatting() as url:
        asleep = f"wake: false, awake_url: '{url}/up', awake_text: is awake"
        write(config, f"targets: [{{name: chat, url: '{url}', model: m, {asleep}}}, {{name: b, url: '{url}'}}]")
        assert [item["target"] for item in items(config, capsys)] == ["b"]
        assert probe_now(config, None, as_json=False) == 0
        assert "chat: may sleep, and wake: false keeps it so" in capsys.readouterr().err
        assert probe_now(config, "chat", as_json=False) == 0
        assert capsys.readouterr().out.startswith("chat / short: success")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_gate_does_not_pass_where_nothing_was_probed(
    config: Path, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with chatting() as url:
        asleep = f"wake: false, awake_url: '{url}/up', awake_text: is awake"
        write(config, f"targets: [{{name: chat, url: '{url}', {asleep}}}, {{name: b, url: '{url}', {asleep}}}]")
        assert probe_now(config, None, as_json) == 1
    captured = capsys.readouterr()
    assert captured.err.endswith(f"{config}: nothing was probed, since every target may sleep\n")
    assert captured.out == ("[]\n" if as_json else "")


def test_a_probe_that_this_command_delayed_is_tainted(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MONITOR, "_sleep", lambda seconds: time.sleep(seconds + 0.05))
    with chatting() as url:
        target = f"targets: [{{name: chat, url: '{url}'}}]"
        config.write_text(f"prober: {{max_lag: 20ms}}\n{target}")
        assert probe_now(config, "chat", as_json=False) == 1
        shown = capsys.readouterr().out
        assert shown.startswith("chat / short: not judged (tainted)\n  this prober was held up for ")
        assert "probe-lag" not in {thread.name for thread in threading.enumerate()}
        write(config, target)
        assert probe_now(config, "chat", as_json=False) == 0


PIPELINE = re.compile(r"\n    set -o pipefail\n    inferwatch probe --json chat \| (jq .+)\n")
GOOD = {"success": True, "ttft_seconds": 0.5}


@pytest.mark.tool("jq")
@pytest.mark.parametrize(
    ("printed", "code", "passes"),
    [
        (json.dumps([GOOD, GOOD]), 0, True),
        (json.dumps([GOOD, GOOD | {"success": False}]), 1, False),
        (json.dumps([GOOD, GOOD | {"ttft_seconds": 2.5}]), 0, False),
        # Not streamed; null is less than any number to jq.
        (json.dumps([GOOD | {"ttft_seconds": None}]), 0, False),
        ("[]", 1, False),
        ("[]", 0, False),
        # An invalid file; jq 1.6 takes no input for a success.
        ("", 2, False),
    ],
)
def test_the_documented_gate_passes_only_what_was_measured_and_good(
    tmp_path: Path, printed: str, code: int, passes: bool
) -> None:
    (jq,) = PIPELINE.findall((Path(__file__).parents[2] / "docs" / "probe-exporter.md").read_text())
    (tmp_path / "printed").write_text(printed)
    script = f"set -o pipefail\nprobe() {{ cat printed; return {code}; }}\nprobe | {jq}\n"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == passes, done.stderr


def test_a_terminal_that_lacks_a_character_gets_its_escape(config: Path) -> None:
    with chatting(words=("\N{SNOWMAN}", "\N{GREEK SMALL LETTER ALPHA}")) as url:
        write(config, f"targets: [{{name: chat, url: '{url}', model: 'caf\N{LATIN SMALL LETTER E WITH ACUTE}'}}]")
        command = [sys.executable, "-m", "stack.cli", "probe", "--debug", "-c", str(config), "chat"]
        environ = os.environ | {"PYTHONIOENCODING": "ascii"}
        done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "model     caf\\xe9\n" in done.stdout and r"content (1 characters): '\u2603'" in done.stdout

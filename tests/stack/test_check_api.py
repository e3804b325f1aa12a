"""The API of a target: each finding about keys, addresses and models, against real servers."""

from pathlib import Path

import pytest
from check_fakes import HTML, JSON, SECRET, Server, found, models, one, serving


def test_a_server_that_asks_for_a_key() -> None:
    with serving(Server({"/v1/models": models("m")}, key=SECRET)) as server:
        finding = one(found(server), "auth")
    assert (finding.level, finding.text) == ("fail", "the server asks for a key (401)")
    assert "bearer_file" in finding.todo


def test_a_key_that_is_taken_and_one_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Server({"/v1/models": models("m")}, key=SECRET)) as server:
        monkeypatch.setenv("T_KEY", SECRET)
        taken = found(server, "auth: {bearer_env: T_KEY}")
        monkeypatch.setenv("T_KEY", "sk-wrong")
        refused = found(server, "auth: {bearer_env: T_KEY}")
    assert one(taken, "auth").text == "the server takes the key"
    assert one(taken, "secret").text == "the variable T_KEY holds a key"
    assert (one(refused, "auth").level, one(refused, "auth").text) == ("fail", "the server refuses the key (401)")


def test_a_key_that_the_list_of_models_does_not_need_is_not_called_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T_KEY", "sk-wrong")
    with serving(Server({"/v1/models": models("m")}, key=SECRET, open_paths=("/v1/models",))) as server:
        finding = one(found(server, "auth: {bearer_env: T_KEY}"), "auth")
    assert "only a probe tells whether the key is right" in finding.text
    assert finding.todo == "inferwatch probe t"


def test_a_secret_that_cannot_be_read(tmp_path: Path) -> None:
    with serving(Server({"/v1/models": models("m")})) as server:
        findings = found(server, f"auth: {{bearer_file: {tmp_path}/none}}")
    assert one(findings, "secret").level == "fail"
    assert "there is no such file" in one(findings, "secret").text
    assert "/v1/models" not in server.asked, "the server is not asked without the key that it is to be asked with"


def test_a_url_without_v1() -> None:
    with serving(Server({"/v1/models": models("m")})) as server:
        finding = one(found(server, path=""), "api")
    assert finding.level == "fail"
    assert finding.todo == f"write url: http://127.0.0.1:{server.port}/v1"


def test_a_web_page_instead_of_the_api() -> None:
    with serving(Server({"/v1/models": (200, HTML, "<!doctype html><title>Log in</title>")})) as server:
        finding = one(found(server), "api")
    assert finding.text.endswith("/v1/models answers 200 with a web page")


@pytest.mark.parametrize(
    ("status", "level", "text"),
    [
        (302, "fail", "the server redirects to http://elsewhere/v1"),
        (429, "warn", "the server limits requests (429)"),
        (503, "fail", "the server answers 503"),
        (404, "fail", "answers 404 with no list of models"),
    ],
)
def test_other_answers(status: int, level: str, text: str) -> None:
    headers = {"Location": "http://elsewhere/v1"} if status == 302 else {}
    with serving(Server({"/v1/models": (status, JSON, "{}")}, headers=headers)) as server:
        finding = one(found(server), "api")
    assert (finding.level, text in finding.text) == (level, True), finding


def test_a_server_without_a_list_but_with_a_configured_model() -> None:
    with serving(Server()) as server:
        finding = one(found(server, "model: m"), "api")
    assert finding.level == "warn"
    assert finding.todo == "try it: inferwatch probe t"


@pytest.mark.parametrize(
    ("served", "model", "level", "text"),
    [
        (models("a", "b"), "", "ok", "a is probed, the first that is served"),
        (models("x" * 129, "a"), "", "ok", "a is probed, the first that is served"),
        (models("x" * 129, "a\u2028"), "", "fail", "no model is listed by a name that is printable and at most 128"),
        (models("a", "b"), "model: c", "fail", "c is not served; served: a, b"),
        (models(), "", "fail", "the server lists no model"),
        (models(), "model: c", "warn", "the server lists no model, so c is not confirmed"),
        (models("x.gguf", owner="llamacpp"), "model: c", "warn", "llama.cpp answers to any name, with x.gguf"),
    ],
)
def test_models(served: tuple[int, str, str], model: str, level: str, text: str) -> None:
    with serving(Server({"/v1/models": served})) as server:
        finding = one(found(server, model), "model")
    assert (finding.level, text in finding.text) == (level, True), finding


def test_the_lists_of_other_apis() -> None:
    tags = '{"models": [{"name": "m:7b"}]}'
    with serving(Server({"/api/tags": (200, JSON, tags), "/v1/models": models("m")})) as server:
        ollama = found(server, "api: ollama", path="")
        anthropic = found(server, "api: anthropic", path="")
    assert one(ollama, "api").text.endswith("/api/tags answers")
    assert one(anthropic, "api").text.endswith("/v1/models answers")
    assert one(ollama, "model").level == one(anthropic, "model").level == "ok"

"""Targets that must not be woken: whether they can be asked, and what is left alone while they sleep."""

import pytest
from check_fakes import JSON, TEXT, Server, found, models, one, serving

from inferwatch.config import parse_config
from inferwatch.errors import ConfigError

STATE = 'vllm:engine_sleep_state{{engine="0",model_name="m",sleep_state="awake"}} {}\nvllm:num_requests_waiting 0\n'


def test_nothing_is_asked_of_a_target_that_may_be_woken() -> None:
    with serving(Server({"/v1/models": models("m")})) as server:
        assert not [finding for finding in found(server) if finding.step == "sleep"]
    assert "/is_sleeping" not in server.asked


@pytest.mark.parametrize(("state", "text"), [(1, "it is awake"), (0, "it sleeps, so it is not probed now")])
def test_an_engine_that_tells_is_checked_all_the_same(state: int, text: str) -> None:
    routes = {"/v1/models": models("m"), "/metrics": (200, TEXT, STATE.format(state))}
    with serving(Server(routes)) as server:
        metrics = f"metrics: ['http://127.0.0.1:{server.port}/metrics']"
        findings = found(server, f"wake: false, model: m, engine: vllm, {metrics}")
    assert (one(findings, "sleep").level, one(findings, "sleep").text) == ("ok", text)
    assert one(findings, "api").level == "ok"


def test_an_engine_that_does_not_tell() -> None:
    with serving(Server({"/v1/models": models("m")})) as server:
        finding = one(found(server, "wake: false, model: m, engine: tgi"), "sleep")
    assert finding.level == "fail"
    assert "(tgi) does not tell whether it sleeps; those that do: ollama, llamacpp, vllm" in finding.text
    assert "write awake_url:" in finding.todo


def test_a_target_that_a_request_would_start_is_left_alone() -> None:
    with serving(Server({"/v1/models": models("m"), "/state": (503, JSON, "{}")})) as server:
        findings = found(server, f"wake: false, awake_url: 'http://127.0.0.1:{server.port}/state'")
    assert one(findings, "sleep").text == "it sleeps; the rest is not tried, since a request would wake it"
    assert server.asked == ["/state"]


def test_an_address_that_does_not_answer(free_port: int) -> None:
    with serving(Server({"/v1/models": models("m")})) as server:
        finding = one(found(server, f"wake: false, awake_url: 'http://127.0.0.1:{free_port}/state'"), "sleep")
    assert finding.level == "fail"
    assert finding.text == f"nothing answers at awake_url: http://127.0.0.1:{free_port}/state"


@pytest.mark.parametrize(("language", "tokens", "valid"), [("de", 14, False), ("de", 15, True), ("ja", 4, True)])
def test_an_answer_too_short_to_tell_its_language(language: str, tokens: int, valid: bool) -> None:
    text = f"scenarios: {{a: {{prompt: x, max_tokens: {tokens}, checks: {{language: {language}}}}}}}"
    if valid:
        parse_config(text, "f.yml", {})
        return
    with pytest.raises(ConfigError, match="de is told from 15 words on, more than max_tokens: 14 lets an answer have"):
        parse_config(text, "f.yml", {})

"""What `/probe` may be told to ask: only what the target's API can ask, and of any URL only what ships."""

from http import HTTPStatus
from pathlib import Path
from typing import get_args

import pytest
from hostile import HostileServer
from test_probe_oneshot import Asked, probes, shown

from exporters.probe.views.any_target import AnyTarget
from exporters.probe.views.oneshot import OneShots
from exporters.probe.views.oneshot_request import Wanted, wanted_by
from inferwatch.config import Config, load_config, parse_config
from inferwatch.config.built_in import BUILT_IN_SCENARIOS
from inferwatch.config.target import Api
from inferwatch.errors import ConfigError
from inferwatch.exposition import Request

SPECIAL = {
    "tools": "tools: [{name: clock}]",
    "required": "tools: [{name: clock}], tool_choice: required",
    "json": "response_format: json_object",
}


def special(api: str, listed: str = "short") -> Config:
    """Return a file whose special scenarios no target lists, but for one."""
    scenarios = "\n".join(f"  {name}: {{prompt: p, max_tokens: 9, {what}}}" for name, what in SPECIAL.items())
    target = f"{{name: chat, url: 'http://h', api: {api}, model: m, scenarios: [{listed}]}}"
    return parse_config(f"targets: [{target}]\nscenarios:\n{scenarios}", "f", {})


def wanted(config: Config, **query: str) -> Wanted | str:
    return wanted_by(Request({name: [value] for name, value in query.items()}), config, any_target=True)


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("api", get_args(Api))
def test_what_a_file_may_not_list_may_not_be_asked_on_request(api: str, name: str) -> None:
    """For every API, whatever comes to be: the file and the request are judged alike, in the same words."""
    try:
        special(api, listed=name)
        refused = None
    except ConfigError as error:
        refused = error.problems[0].partition("scenarios[0]: ")[2]
    answer = wanted(special(api), target="chat", scenario=name)
    assert answer == f"chat cannot be asked this: {refused}" if refused else isinstance(answer, Wanted)


def test_what_cannot_be_asked_is_answered_400_and_costs_nothing(hostile: HostileServer) -> None:
    hostile.requests.clear()
    asked = Asked(hostile.url("good"), "api: openai-completions")
    asked.config = parse_config(
        f"targets: [{{name: chat, url: '{hostile.url('good')}', api: openai-completions, model: m}}]\n"
        "scenarios: {call: {prompt: p, max_tokens: 9, tools: [{name: clock}]}}",
        "f",
        {},
    )
    answer = asked(scenario="call")
    assert answer.status == HTTPStatus.BAD_REQUEST and probes(hostile) == 0
    assert answer.body.startswith("chat cannot be asked this: openai-completions has no tools, which 'call' needs;")


# Any URL

OWN = {
    "prompt": "prompt: our own secret words",
    "file": "prompt_file: prompt.txt",
    "messages": "messages: [{role: user, content: our own secret words}]",
    "tools": "prompt: p, tools: [{name: secret_tool}]",
    "canary": "prompt: our own secret words",  # takes the name of one that ships
}


@pytest.fixture
def mine(tmp_path: Path) -> Config:
    (tmp_path / "prompt.txt").write_text("our own secret words")
    scenarios = "\n".join(f"  {name}: {{max_tokens: 9, {what}}}" for name, what in OWN.items())
    text = f"defaults: {{scenarios: [prompt, short], timeout: 7s}}\nscenarios:\n{scenarios}"
    (tmp_path / "inferwatch.yml").write_text(text)
    return load_config(tmp_path / "inferwatch.yml")


@pytest.mark.parametrize("name", OWN)
def test_a_url_is_not_asked_what_the_file_defines(
    mine: Config, hostile: HostileServer, name: str, tmp_path: Path
) -> None:
    hostile.requests.clear()
    asked = Asked(hostile.url("good"))
    asked.config = mine
    asked.shots = OneShots(lambda: mine, asked.prober, AnyTarget(100_000, tmp_path))
    answer = asked(target=hostile.url("good"), model="m", scenario=name)
    assert answer.status == HTTPStatus.BAD_REQUEST and probes(hostile) == 0
    known = "scenario= must be one of canary-long, short; a URL is asked only what ships with inferwatch, and not what"
    assert answer.body == f"{known} this file defines\n"


def test_a_url_is_asked_what_ships(mine: Config, hostile: HostileServer, tmp_path: Path) -> None:
    hostile.requests.clear()
    asked = Asked(hostile.url("good"))
    asked.config = mine
    asked.shots = OneShots(lambda: mine, asked.prober, AnyTarget(100_000, tmp_path))
    # Without scenario= the first of the defaults that ships, not the first of them; limits of time are the file's.
    assert shown(asked(target=hostile.url("good"), model="m"))["probe_timeout_seconds"] == 7
    assert shown(asked(target=hostile.url("good"), model="m", scenario="canary-long"))["probe_timeout_seconds"] == 7
    first, second = (peer.body["messages"] for peer in hostile.requests)
    assert first == [{"role": "user", "content": BUILT_IN_SCENARIOS["short"].prompt}]
    assert second == [{"role": "user", "content": BUILT_IN_SCENARIOS["canary-long"].prompt}]


def test_a_file_that_defines_all_that_ships_leaves_nothing_to_ask() -> None:
    scenarios = "".join(f"\n  {name}: {{prompt: p, max_tokens: 9}}" for name in BUILT_IN_SCENARIOS)
    config = parse_config(f"scenarios:{scenarios}", "f", {})
    for query in ({}, {"scenario": "short"}):
        sentence = wanted(config, target="http://h/v1", **query)
        assert isinstance(sentence, str) and sentence.startswith("scenario= must be one of none; a URL is asked only")


def test_what_ships_can_be_asked_by_every_api() -> None:
    for api in get_args(Api):
        for name in BUILT_IN_SCENARIOS:
            assert isinstance(wanted(Config(), target="http://h", api=api, scenario=name), Wanted)

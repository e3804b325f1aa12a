"""From a file, or from the environment, to a configuration."""

import os

import pytest

from inferwatch.config import Config, load_config, parse_config
from inferwatch.errors import ConfigError

URL = "http://10.0.0.7:8000/v1"
TARGET = f"targets:\n- name: chat\n  url: {URL}\n"


def explained(text: str, environ=None) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "inferwatch.yml", environ or {})
    return str(caught.value)


# The file


def test_an_absent_file(tmp_path):
    file = tmp_path / "inferwatch.yml"
    start = f"{file}: there is no such file; start from config/inferwatch.example.yml"
    for option, more in ((None, ""), ("--config", ", or name another with --config")):
        with pytest.raises(ConfigError) as caught:
            load_config(file, {}, option=option)
        assert str(caught.value) == start + more


def test_a_folder_in_place_of_the_file(tmp_path):
    with pytest.raises(ConfigError, match="is a folder, not a file; name a file, or remove it if it is empty"):
        load_config(tmp_path, {})


def test_a_file_that_the_system_refuses(tmp_path):
    loop = tmp_path / "inferwatch.yml"
    loop.symlink_to(loop)
    with pytest.raises(ConfigError, match="cannot be read: Too many levels of symbolic links; let this process's user"):
        load_config(loop, {})


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file(tmp_path):
    file = tmp_path / "inferwatch.yml"
    file.write_text(TARGET)
    file.chmod(0)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied; let this process's user read it"):
        load_config(file, {})


def test_a_file_that_is_too_large(tmp_path):
    file = tmp_path / "inferwatch.yml"
    file.write_bytes("\N{EURO SIGN}".encode() * (4 << 20))
    with pytest.raises(ConfigError, match="the file is larger than 524288 bytes; name the right one"):
        load_config(file, {})


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_files_of_any_editor(tmp_path, mark, ending):
    file = tmp_path / "inferwatch.yml"
    file.write_bytes(mark + TARGET.encode().replace(b"\n", ending))
    assert load_config(file, {}).targets[0].name == "chat"


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "targets:\n", "targets: []\n", "---\n", "{}", "~", "null\n"])
def test_no_target_is_a_valid_file(text):
    assert parse_config(text, "inferwatch.yml", {}) == Config()


def test_problems_come_in_the_order_of_the_file():
    text = "scenarios: {a: {max_tokens: 0, prompt: x}}\ndefaults: {timeout: 5}\nother: 1\n"
    lines = [problem.split(":")[1] for problem in explained(text).splitlines()]
    assert lines == ["1", "2", "3"]


# Values that the nearest one wins


def test_scenarios_inherit_interval_and_timeout():
    config = parse_config(
        """
        defaults: {interval: 30s, timeout: 20s, scenarios: [short, long]}
        scenarios: {long: {prompt: Why, max_tokens: 512, timeout: 2m}}
        targets:
        - {name: a, url: http://a/v1}
        - {name: b, url: http://b/v1, interval: 10s, scenarios: [long]}
        """,
        "inferwatch.yml",
        {},
    )
    first, second = (config.scenarios_of(target) for target in config.targets)
    assert {name: (scenario.interval, scenario.timeout) for name, scenario in first.items()} == {
        "short": (30.0, 20.0),
        "long": (30.0, 120.0),
    }
    assert {name: (scenario.interval, scenario.timeout) for name, scenario in second.items()} == {"long": (10.0, 120.0)}


def test_a_scenario_of_the_file_replaces_the_built_in_one():
    config = parse_config("scenarios: {short: {prompt: Hi, max_tokens: 5}}\n" + TARGET, "inferwatch.yml", {})
    assert config.scenarios_of(config.targets[0])["short"].prompt == "Hi"


# The environment


def test_the_environment_gives_a_target_where_the_file_has_none():
    (target,) = parse_config("", "inferwatch.yml", {"INFERWATCH_TARGET_URL": URL + "/"}).targets
    assert (target.name, target.url, target.model, target.auth) == ("default", URL, None, None)
    assert target.metrics == ["http://10.0.0.7:8000/metrics"]


def test_the_environment_gives_every_part():
    environ = {
        "INFERWATCH_TARGET_URL": URL,
        "INFERWATCH_TARGET_MODEL": "small",
        "INFERWATCH_TARGET_METRICS_URL": "http://10.0.0.8:9000/metrics",
        "INFERWATCH_TARGET_API_KEY_FILE": "/run/secrets/key",
    }
    (target,) = parse_config("", "inferwatch.yml", environ).targets
    assert (target.model, target.metrics) == ("small", ["http://10.0.0.8:9000/metrics"])
    assert target.auth.bearer_file == "/run/secrets/key"


def test_a_remote_api_has_no_metrics():
    environ = {"INFERWATCH_TARGET_URL": URL, "INFERWATCH_TARGET_METRICS_URL": "None"}
    assert parse_config("", "inferwatch.yml", environ).targets[0].metrics == []


def test_empty_variables_are_unset():
    variables = ("URL", "MODEL", "METRICS_URL", "API_KEY_FILE")
    assert parse_config("", "inferwatch.yml", {f"INFERWATCH_TARGET_{name}": " " for name in variables}) == Config()


def test_the_file_wins_and_says_so(caplog):
    config = parse_config(TARGET, "inferwatch.yml", {"INFERWATCH_TARGET_URL": "http://other/v1"})
    assert [target.url for target in config.targets] == [URL]
    assert "INFERWATCH_TARGET_URL is ignored, since inferwatch.yml has targets of its own" in caplog.text


@pytest.mark.parametrize("url", ["localhost:8000", "http://[::1", "ftp://10.0.0.7/v1", "http://"])
def test_a_bad_url_is_reported_once_as_its_variable(url):
    message = explained("", {"INFERWATCH_TARGET_URL": url})
    assert message == f"INFERWATCH_TARGET_URL: {url!r} is not a URL; write one such as http://10.0.0.7:8000/v1"


def test_each_bad_variable_is_named_and_so_is_each_bad_line():
    environ = {
        "INFERWATCH_TARGET_URL": URL,
        "INFERWATCH_TARGET_METRICS_URL": "http://10.0.0.7:8000",
        "INFERWATCH_TARGET_API_KEY_FILE": "sk-secret",
    }
    problems = explained("defaults: {interval: 5}", environ).splitlines()
    assert [problem.split(":")[0] for problem in problems] == [
        "INFERWATCH_TARGET_METRICS_URL",
        "INFERWATCH_TARGET_API_KEY_FILE",
        "inferwatch.yml",
    ]
    assert "sk-secret" not in str(problems)


def test_a_variable_without_the_url():
    message = explained("", {"INFERWATCH_TARGET_MODEL": "small"})
    assert message == "INFERWATCH_TARGET_MODEL: is set, but INFERWATCH_TARGET_URL is not; set both, or neither"

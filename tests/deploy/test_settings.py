"""Passwords, keys, the .env file, and the demo's configuration."""

import re

from compose import CHECKOUT, document, mounts, services, variables

from inferwatch.config.environment import ENV_API_KEY_FILE, ENV_METRICS_URL, ENV_MODEL, ENV_URL
from inferwatch.config.load import load_config

DOTENV = (CHECKOUT / ".env").read_text(encoding="utf-8")
DEMO = CHECKOUT / "deploy" / "demo"


def test_grafanas_password_comes_from_a_file_that_a_one_shot_makes() -> None:
    grafana, maker = services()["grafana"], services()["grafana-password"]
    file = grafana["environment"]["GF_SECURITY_ADMIN_PASSWORD__FILE"]
    assert "GF_SECURITY_ADMIN_PASSWORD" not in grafana["environment"]
    assert grafana["depends_on"] == {"grafana-password": {"condition": "service_completed_successfully"}}
    assert maker["user"] == grafana["user"], "Grafana must be able to read what is made"
    assert maker["network_mode"] == "none"
    (made,) = mounts(maker)
    read = next(mount for mount in mounts(grafana) if mount[0] == made[0])
    assert read[2], "Grafana only reads it"
    assert file.removeprefix(read[1]) == maker["command"][1].removeprefix(made[1])


def test_nobody_gets_into_grafana_without_the_password() -> None:
    environment = services()["grafana"]["environment"]
    assert environment["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    assert environment["GF_USERS_ALLOW_SIGN_UP"] == "false"


def test_no_secret_is_written_in_the_files() -> None:
    text = (CHECKOUT / "docker-compose.yml").read_text(encoding="utf-8") + DOTENV
    assert not re.search(r"(?im)^[ \t]*#?\w*(password|secret|token|api_key)[ \t]*[:=][ \t]*(?!\$\{\w+:-\})\S", text)


def test_dotenv_explains_every_variable_and_sets_only_the_profiles() -> None:
    explained = set(re.findall(r"(?m)^#?([A-Z_]+)=", DOTENV))
    assert explained == variables() | {"COMPOSE_PROFILES"}
    assert re.findall(r"(?m)^([A-Z_]+=.*)$", DOTENV) == ["COMPOSE_PROFILES="]


def test_dotenv_shows_the_defaults_that_the_file_has() -> None:
    text = (CHECKOUT / "docker-compose.yml").read_text(encoding="utf-8")
    for name, value in re.findall(r"(?m)^#(INFERWATCH_(?:RETENTION|CONFIG|\w+_PORT)\w*)=(.+)$", DOTENV):
        assert f"${{{name}:-{value}}}" in text


def test_the_prober_is_given_the_target_of_the_environment() -> None:
    given = services()["probe-exporter"]["environment"]
    assert given == {name: f"${{{name}:-}}" for name in (ENV_URL, ENV_MODEL, ENV_METRICS_URL, ENV_API_KEY_FILE)}


def test_the_demos_settings_start_its_services_with_its_configuration() -> None:
    settings = dict(
        line.split("=", 1)
        for line in (DEMO / "compose.env").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    )
    assert settings == {"COMPOSE_PROFILES": "demo", "INFERWATCH_CONFIG_DIR": "./deploy/demo"}


def test_the_demos_configuration_watches_the_demos_services() -> None:
    config = load_config(DEMO / "inferwatch.yml", {})
    (target,) = config.targets
    server = services()["demo-server"]
    port = next(word.removeprefix("--port=") for word in server["command"] if word.startswith("--port="))
    assert target.url == f"http://demo-server:{port}/v1"
    assert list(target.metrics) == [f"http://demo-server:{port}/metrics"]
    assert f"--url={target.url}" in services()["demo-users"]["command"]
    assert f"--model={target.model}" in services()["demo-users"]["command"]
    (exporter,) = config.gpu_exporters
    host, _, gpu_port = exporter.address.partition(":")
    assert f"--web.listen-address=:{gpu_port}" in services()[host]["command"]
    assert f"--simulate={exporter.expected}" in services()[host]["command"]
    assert target.gpus is not None
    assert target.gpus.node == exporter.node


def test_the_default_configuration_lists_no_target() -> None:
    assert load_config(CHECKOUT / "config" / "inferwatch.yml", {}).targets == []


def test_hosts_that_prometheus_and_alertmanager_name_are_services() -> None:
    known = set(services()) | {"localhost"}
    for file in ("prometheus/prometheus.yml", "alerting/alertmanager.yml"):
        text = (CHECKOUT / file).read_text(encoding="utf-8")
        code = "\n".join(line.partition(" #")[0] for line in text.splitlines() if not line.lstrip().startswith("#"))
        hosts = set(re.findall(r"([a-z][a-z0-9-]+):\d{4}\b", code))
        assert hosts, file
        assert hosts <= known, file


def test_the_document_names_every_service_and_volume_and_where_the_password_is() -> None:
    text = (CHECKOUT / "docs" / "docker.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z-]+)`", text))
    assert set(services()) | set(document()["volumes"]) <= named
    file = services()["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD__FILE"]
    for place in ("docs/docker.md", "README.md"):
        assert f"docker compose exec grafana cat {file}" in (CHECKOUT / place).read_text(encoding="utf-8")


def test_keys_beside_the_configuration_stay_out_of_git() -> None:
    assert "/config/secrets/" in (CHECKOUT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_project_has_a_name_of_its_own() -> None:
    assert document()["name"] == "inferwatch"

"""Every service is hardened, bounded and reachable from this machine only; every file that it mounts exists."""

import re
from typing import Any

import pytest
from compose import CHECKOUT, ONE_SHOT, document, filled_in, mounts, services

from inferwatch.config.model import Prober

SERVICES = sorted(services().items())
each_service = pytest.mark.parametrize(("name", "service"), SERVICES, ids=[name for name, _ in SERVICES])
# Where each image keeps what must survive it.
DATA = {
    "prometheus": "/prometheus",
    "alertmanager": "/alertmanager",
    "grafana": "/var/lib/grafana",
    "probe-exporter": "/state",
    "start-page": "/state",
}
PUBLISHED = {"prometheus": "9090", "alertmanager": "9093", "grafana": "3000", "start-page": "9812"}


@each_service
def test_is_hardened(name: str, service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    assert service.get("network_mode") in (None, "none")
    assert not {"pid", "ipc", "userns_mode"} & set(service)
    assert all("/var/run" not in source and "docker.sock" not in source for source, _, _ in mounts(service))


@each_service
def test_runs_as_an_unprivileged_user(name: str, service: dict[str, Any]) -> None:
    user = service["user"].split(":")[0]
    assert user.isdecimal(), "a name would be looked up in the image"
    assert int(user) > 0


@each_service
def test_is_bounded(name: str, service: dict[str, Any]) -> None:
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
    assert 0 < service["pids_limit"] <= 1024
    assert service["logging"]["driver"] == "json-file"
    assert set(service["logging"]["options"]) == {"max-size", "max-file"}
    assert all("size=" in mount for mount in service["tmpfs"])


@each_service
def test_is_restarted_and_asked_for_its_health(name: str, service: dict[str, Any]) -> None:
    if name in ONE_SHOT:
        assert service["restart"].startswith("on-failure:"), "a one-shot must not start again after it succeeded"
        return
    assert service["restart"] == "unless-stopped"
    check = service["healthcheck"]
    assert check["test"][0] == "CMD", "a shell hides the exit code's reason"
    assert set(check) == {"test", "interval", "timeout", "retries", "start_period"}


@each_service
def test_its_image_is_pinned_and_not_taken_from_the_environment(name: str, service: dict[str, Any]) -> None:
    image = service["image"]
    assert "$" not in image
    assert "@" not in image
    assert re.search(r":v?\d+\.\d+\.\d+$", image), image
    if "/" not in image:
        assert service["pull_policy"] == "never", "a name that we do not own in a registry must never be pulled"


def test_each_image_of_ours_is_built_by_a_service_that_starts_with_it() -> None:
    builders = {name: service for name, service in services().items() if "build" in service}
    assert set(builders) == {"probe-exporter", "gpu-exporter", "demo-server"}
    built = {service["image"] for service in builders.values()}
    assert {service["image"] for service in services().values() if "/" not in service["image"]} == built


@each_service
def test_publishes_on_loopback_only(name: str, service: dict[str, Any]) -> None:
    ports = [filled_in(port) for port in service.get("ports", [])]
    expected = [f"127.0.0.1:{PUBLISHED[name]}:{PUBLISHED[name]}"] if name in PUBLISHED else []
    assert ports == expected


@each_service
def test_what_it_mounts_exists_and_is_read_only(name: str, service: dict[str, Any]) -> None:
    for source, _, read_only in mounts(service):
        if source.startswith("."):
            assert (CHECKOUT / source).is_dir(), f"{source}: a mounted file stays the old one after an editor's rename"
            assert read_only
        else:
            assert source in document()["volumes"]


def test_data_lies_in_named_volumes_where_the_image_keeps_it() -> None:
    for name, folder in DATA.items():
        writable = [target for source, target, read_only in mounts(services()[name]) if not read_only]
        assert writable == [folder], name


def test_every_volume_is_used() -> None:
    used = {source for service in services().values() for source, _, _ in mounts(service)}
    assert set(document()["volumes"]) <= used


def test_prometheus_drops_samples_by_age_and_by_size() -> None:
    command = " ".join(map(filled_in, services()["prometheus"]["command"]))
    assert re.search(r"--storage\.tsdb\.retention\.time=\d+d", command)
    assert re.search(r"--storage\.tsdb\.retention\.size=\d+GB", command)
    assert "lifecycle" not in command


def test_configuration_files_are_where_the_commands_look_for_them() -> None:
    for service in services().values():
        places = {target: source for source, target, _ in mounts(service)}
        for word in service.get("command", []):
            path = word.partition("=")[2]
            target = next((target for target in places if path.startswith(target + "/")), None)
            if target and places[target].startswith(".") and not path.endswith("gpus.yml"):
                assert (CHECKOUT / places[target] / path.removeprefix(target + "/")).is_file(), word


def test_services_that_reach_out_know_the_way_to_the_host() -> None:
    for name in ("prometheus", "probe-exporter"):
        assert services()[name]["extra_hosts"] == ["host.docker.internal:host-gateway"]


def test_as_many_probes_as_may_be_configured_fit_into_the_limits() -> None:
    largest = next(one.le for one in Prober.model_fields["max_concurrent"].metadata if hasattr(one, "le"))
    assert services()["probe-exporter"]["pids_limit"] > largest + 64


def test_what_starts_without_a_profile() -> None:
    default = {name for name, service in services().items() if "profiles" not in service}
    assert default == {"prometheus", "alertmanager", "grafana", "grafana-password", "probe-exporter", "start-page"}
    profiles = {name: service["profiles"] for name, service in services().items() if "profiles" in service}
    assert profiles == {
        "gpu-exporter": ["gpu"],
        "demo-server": ["demo"],
        "demo-users": ["demo"],
        "demo-gpus": ["demo"],
    }


def test_the_gpu_exporter_reserves_gpus_and_simulated_ones_do_not() -> None:
    (device,) = services()["gpu-exporter"]["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["count"]) == ("nvidia", "all")
    assert "gpu" in device["capabilities"]
    assert "--simulate=4" in services()["demo-gpus"]["command"]
    assert "deploy" not in services()["demo-gpus"]


def test_a_simulated_and_a_real_exporter_never_share_a_name() -> None:
    assert "networks" not in services()["demo-gpus"]

"""What a run writes, refuses and lists."""

import io
import json
import sys
from pathlib import Path

import pytest
import yaml

from inferwatch.errors import InferwatchError
from stack import launch
from stack.gpus import Gpus, simulated_gpus
from stack.ports import free_ports
from stack.services import CONTAINER_ADDRESSES, DEFAULT_PORTS, Place

TOOLS = {"prometheus": Path("/usr/bin/prometheus"), "alertmanager": Path("/usr/bin/prometheus-alertmanager")}
NO_GPUS = Gpus(0, False, "this machine has no NVIDIA driver")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, dict(zip(DEFAULT_PORTS, free_ports(len(DEFAULT_PORTS)), strict=True)))


def test_every_container_address_is_replaced(place: Place) -> None:
    launch.prepare(launch.Plan(place, place.file("c.yml"), simulated_gpus(4, "x")), TOOLS)
    for name in ("prometheus.yml", "alertmanager.yml"):
        text = place.file(name).read_text().split("\n", 1)[1]
        for address in CONTAINER_ADDRESSES.values():
            assert address not in text
    jobs = {job["job_name"]: job for job in yaml.safe_load(place.file("prometheus.yml").read_text())["scrape_configs"]}
    assert jobs["gpu"]["static_configs"][0]["targets"] == [place.listen("gpu-exporter")]


def test_without_gpus_the_exporter_is_neither_started_nor_scraped_but_listed(place: Place) -> None:
    started = launch.prepare(launch.Plan(place, place.file("c.yml"), NO_GPUS), TOOLS)
    assert "gpu-exporter" not in [service.name for service in started]
    assert place.listen("gpu-exporter") not in place.file("prometheus.yml").read_text()
    listed = {service["name"]: service for service in json.loads(place.file("services.json").read_text())["services"]}
    assert listed["gpu-exporter"]["optional"]
    assert "no NVIDIA driver" in listed["gpu-exporter"]["note"]


def test_the_page_can_read_what_is_listed(place: Place) -> None:
    from stack.page.services import load_services

    launch.prepare(launch.Plan(place, place.file("c.yml"), NO_GPUS, notes=["a note"]), TOOLS)
    read = load_services(place.file("services.json"))
    assert read.notes == ["a note"]
    assert read.status_file == str(place.file("status.json"))
    assert {"prometheus", "alertmanager", "probe-exporter", "page"} <= {service.name for service in read.services}


def test_a_folder_is_used_by_one_run_at_a_time(tmp_path: Path) -> None:
    with (
        launch.locked(tmp_path / "run"),
        pytest.raises(InferwatchError, match=r"another inferwatch \(pid \d+\) runs in"),
        launch.locked(tmp_path / "run"),
    ):
        pass
    with launch.locked(tmp_path / "run"):
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InferwatchError, match="--run-dir"), launch.locked(tmp_path / "file" / "run"):
        pass


class _Closed(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError


def test_a_closed_terminal_silences_the_run_and_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", _Closed())
    launch.tell("nobody reads this")
    launch.tell("nor this")
    sys.stdout.close()

"""Complaints of whose memory it is: series by pod, dead processes, and what is the board's. Through the real pynvml."""

from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_process import Exporter, FakeNvml, Scrape

from exporters.gpu import metrics

pytestmark = pytest.mark.tool("gcc")

Start = Callable[..., Exporter]
QUICK = "--gpu.interval=200ms"
CONTAINERS = ("0a1b2c3d" * 8, "4e5f6a7b" * 8)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Return a host's /proc with process 41 in one container and 42 in another."""
    folder = tmp_path / "proc"
    for pid, name, text in (
        (2, "comm", "kthreadd\n"),
        (41, "cgroup", f"0::/docker/{CONTAINERS[0]}\n"),
        (42, "cgroup", f"0::/docker/{CONTAINERS[1]}\n"),
    ):
        (folder / str(pid)).mkdir(parents=True)
        (folder / str(pid) / name).write_text(text)
    return folder


def of_the_board(scrape: Scrape) -> set[tuple[str, frozenset[tuple[str, str]]]]:
    """Return the series of GPU 0 that are not a process's."""
    return {
        (name, labels)
        for name, labels in scrape.samples
        if ("gpu", "0") in labels and name != metrics.PROCESS_MEMORY_USED.name
    }


@pytest.mark.complaint(19)
def test_a_new_container_makes_no_new_series_of_the_hardware(exporter: Start, nvml: FakeNvml, proc: Path) -> None:
    nvml.tell(gpus=1, _0__process__compute__0="41:4096")
    running = exporter(QUICK, f"--path.procfs={proc}", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.CLOCKS_EVENT_EPISODES, 0, reason="gpu_idle") is not None)
    assert scrape.value(metrics.PROCESS_MEMORY_USED, 0, container=CONTAINERS[0][:12]) == 4096
    before = of_the_board(scrape)
    nvml.tell(gpus=1, _0__process__compute__0="42:8192")
    scrape = running.wait_for(lambda s: s.value(metrics.PROCESS_MEMORY_USED, 0, container=CONTAINERS[1][:12]) == 8192)
    assert of_the_board(scrape) == before
    assert all(
        {name for name, _ in labels}.isdisjoint({"container", "unit", "pid"}) for _, labels in of_the_board(scrape)
    )


@pytest.mark.complaint(20)
def test_who_shares_a_gpu_is_shown_only_what_is_its_own(exporter: Start, nvml: FakeNvml, proc: Path) -> None:
    shared = {f"_0__process__compute__{number}": f"{41 + number}:{1000 + number}" for number in range(2)}
    nvml.tell(gpus=2, **shared)
    running = exporter(QUICK, f"--path.procfs={proc}", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    assert scrape.value(metrics.PROCESS_MEMORY_USED, 0, pid="41") == 1000
    assert scrape.value(metrics.PROCESS_MEMORY_USED, 0, pid="42") == 1001
    # The board's is there once, and also for the GPU that nobody uses.
    assert [scrape.value(metrics.POWER_USAGE, gpu) for gpu in (0, 1)] == [300, 300]
    assert [scrape.value(metrics.UTILIZATION, gpu) for gpu in (0, 1)] == [0.4, 0.4]


@pytest.mark.complaint(21)
def test_process_ids_of_elsewhere_keep_their_memory_and_name_nobody(
    exporter: Start, nvml: FakeNvml, tmp_path: Path
) -> None:
    # The /proc of a container: process 41 there is not the host's 41.
    (tmp_path / "41").mkdir()
    (tmp_path / "41" / "cgroup").write_text("0::/system.slice/other.service\n")
    nvml.tell(gpus=1, _0__process__compute__0="41:4096", _0__process__compute__1="100001:8192")
    running = exporter(QUICK, f"--path.procfs={tmp_path}", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.PROCESS_MEMORY_USED, 0, pid="41", container="", unit="") == 4096
    assert scrape.value(metrics.PROCESS_MEMORY_USED, 0, pid="100001", container="", unit="") == 8192
    # Which of them live cannot be told, so that the memory of all of them is somebody's.
    assert scrape.value(metrics.MEMORY_UNATTRIBUTED, 0) == 2**30 - 4096 - 8192


@pytest.mark.complaint(22)
def test_a_process_that_ended_is_shown_no_more(exporter: Start, nvml: FakeNvml, proc: Path) -> None:
    nvml.tell(gpus=1, _0__process__compute__0="41:4096", _0__process__compute__1="42:8192")
    running = exporter(QUICK, f"--path.procfs={proc}", nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.PROCESSES, 0, type="compute") == 2)
    nvml.tell(gpus=1)
    scrape = running.wait_for(lambda s: s.value(metrics.PROCESSES, 0, type="compute") == 0)
    assert metrics.PROCESS_MEMORY_USED.name not in scrape.of_gpu(0)

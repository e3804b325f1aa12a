from pathlib import Path

import pytest
from gpu_fakes import DENIED, FakeDevice, collect, collect_with, values

from exporters.gpu import metrics
from exporters.gpu.answers import Memory, Process
from exporters.gpu.collectors import process

GIB = 2**30
CONTAINER = "0a1b2c3d" * 8


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Return the /proc of a host where 41 runs in a container and 42 as a service."""
    for pid, name, text in (
        (2, "comm", "kthreadd\n"),
        (41, "cgroup", f"0::/docker/{CONTAINER}\n"),
        (42, "cgroup", "0::/system.slice/vllm.service\n"),
    ):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / name).write_text(text)
        # What a process was started with and what it holds open is nobody's business.
        (tmp_path / str(pid) / "cmdline").mkdir()
        (tmp_path / str(pid) / "fd").write_text("")
    return tmp_path


def device(*compute: Process, graphics: tuple[Process, ...] = (), used: int = 10 * GIB) -> FakeDevice:
    made = FakeDevice()
    made.answers |= {
        "compute processes": list(compute),
        "graphics processes": list(graphics),
        "mps processes": [],
        "memory": Memory(total=80 * GIB, used=used, free=70 * GIB - used, reserved=GIB),
    }
    return made


def test_memory_is_told_by_process_and_owner(proc: Path) -> None:
    gpu = device(Process(41, 6 * GIB, None), Process(42, 3 * GIB, None))
    assert values(collect_with(process.collector(proc), gpu)) == {
        (metrics.PROCESSES, "compute"): 2,
        (metrics.PROCESS_MEMORY_USED, "41", "", CONTAINER[:12], ""): 6 * GIB,
        (metrics.PROCESS_MEMORY_USED, "42", "", "", "vllm.service"): 3 * GIB,
        metrics.MEMORY_UNATTRIBUTED: GIB,
    }


def test_memory_of_a_process_that_has_ended_is_held_by_nobody(proc: Path) -> None:
    found = values(
        collect_with(process.collector(proc), device(Process(41, 2 * GIB, None), Process(99, 7 * GIB, None)))
    )
    assert found[metrics.MEMORY_UNATTRIBUTED] == 8 * GIB
    assert (metrics.PROCESS_MEMORY_USED, "99", "", "", "") not in found


def test_in_a_container_of_its_own_ids_mean_nothing(proc: Path) -> None:
    (proc / "2" / "comm").write_text("bash\n")
    found = values(collect_with(process.collector(proc), device(Process(41, 6 * GIB, None), Process(99, GIB, None))))
    assert found[metrics.PROCESS_MEMORY_USED, "41", "", "", ""] == 6 * GIB
    assert found[metrics.PROCESS_MEMORY_USED, "99", "", "", ""] == GIB
    assert found[metrics.MEMORY_UNATTRIBUTED] == 3 * GIB


def test_a_process_that_computes_and_draws_counts_once(proc: Path) -> None:
    gpu = device(Process(42, 6 * GIB, None), graphics=(Process(42, 6 * GIB, None),))
    found = values(collect_with(process.collector(proc), gpu))
    assert found[metrics.PROCESSES, "graphics"] == 1
    assert found[metrics.MEMORY_UNATTRIBUTED] == 4 * GIB


def test_memory_that_is_not_told_is_absent(proc: Path) -> None:
    found = values(collect_with(process.collector(proc), device(Process(42, None, None))))
    assert found == {(metrics.PROCESSES, "compute"): 1}


def test_processes_vanish_with_their_end(proc: Path) -> None:
    collector, gpu = process.collector(proc), device(Process(42, GIB, None))
    collect_with(collector, gpu)
    gpu.answers["compute processes"] = []
    assert values(collect_with(collector, gpu)) == {
        (metrics.PROCESSES, "compute"): 0,
        metrics.MEMORY_UNATTRIBUTED: 10 * GIB,
    }


def test_only_the_largest_of_very_many_processes_are_shown(proc: Path) -> None:
    (proc / "2" / "comm").write_text("bash\n")
    gpu = device(*(Process(100 + number, number * 2**20, None) for number in range(1, 200)), used=30 * GIB)
    found = values(collect_with(process.collector(proc), gpu))
    shown = {int(key[1]) for key in found if isinstance(key, tuple) and key[0] == metrics.PROCESS_MEMORY_USED}
    assert shown == set(range(300 - process.MOST_SHOWN, 300))
    assert found[metrics.PROCESSES, "compute"] == 199


def test_an_impossible_pid_is_no_process(proc: Path) -> None:
    # As the fields look when a struct of the wrong size is read.
    gpu = device(Process(0, 7 * GIB, None), Process(2**31, 7 * GIB, None))
    found = values(collect_with(process.collector(proc), gpu))
    assert found[metrics.MEMORY_UNATTRIBUTED] == 10 * GIB


def test_without_the_right_to_ask_nothing_is_told(proc: Path) -> None:
    gpu = device()
    gpu.answers["compute processes"] = DENIED
    gpu.answers["name"] = "Fake GPU"
    snapshot = collect(gpu, "info", "process")
    assert {key[0] for key in values(snapshot)} == {metrics.INFO}
    assert not snapshot.runs["process"].success

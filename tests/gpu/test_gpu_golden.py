"""What `/metrics` shows for five GPUs, as files: a difference is a decision and not an accident.

`UPDATE_GOLDEN=1 pytest tests/gpu/test_gpu_golden.py` writes the files anew; read the difference before you commit it.
"""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from gpu_process import Exporter, FakeNvml, Scrape
from gpu_sysfs import add_gpu

from exporters.gpu import metrics
from exporters.gpu.collectors import COLLECTORS
from exporters.gpu.xid import catalogue

pytestmark = pytest.mark.tool("gcc")

GOLDEN = Path(__file__).parent / "golden"
PROFILES = Path(__file__).parent.parent / "fakenvml" / "profiles"
GPUS = sorted(profile.stem for profile in PROFILES.glob("*.control"))
EVERY_COLLECTOR = tuple(f"--collector.{name}" for name in COLLECTORS)
# By the name of the golden file: the profile, and the flags that it was made with.
CASES: dict[str, tuple[str, tuple[str, ...]]] = {name: (name, ()) for name in GPUS} | {
    "geforce-turing-every-collector": ("geforce-turing", EVERY_COLLECTOR),
    "h200-every-collector": ("h200", EVERY_COLLECTOR),
}
MOST_SERIES_PER_GPU = 100
CONTAINER = "5f3c1d2e" * 8

# What depends on the machine and the moment, and not on the GPU: its value is shown as 0.
MOMENTARY = (
    metrics.LAST_COLLECTION_TIMESTAMP,
    metrics.COLLECTION_DURATION,
    metrics.COLLECTOR_DURATION,
    metrics.CLOCKS_EVENT_SAMPLED_SECONDS,
)
# The exporter's process and its versions are left out.
OF_THE_PROCESS = re.compile(rf"(# (HELP|TYPE) )?(process_|python_|inferwatch_|{metrics.BUILD_INFO})")

Start = Callable[..., Exporter]


def make_proc(folder: Path) -> Path:
    """Return a /proc of a host with a container (4711) and a service (1200); 4712 is a process that has ended."""
    for pid, name, content in (
        (2, "comm", "kthreadd\n"),
        (4711, "cgroup", f"0::/system.slice/docker-{CONTAINER}.scope\n"),
        (1200, "cgroup", "0::/system.slice/gdm.service\n"),
    ):
        (folder / str(pid)).mkdir(parents=True)
        (folder / str(pid) / name).write_text(content)
    return folder


def scrape_of(profile: str, start: Start, nvml: FakeNvml, folder: Path, *flags: str, more: str = "") -> Scrape:
    """Return what the exporter shows of a GPU once every collector has shown what it can."""
    nvml.copy((PROFILES / f"{profile}.control").read_text() + more)
    add_gpu(folder / "sys", "0000:0f:00.0")
    proc = make_proc(folder / "proc")
    running = start(
        "--gpu.interval=200ms",
        "--gpu.deadline=60s",
        f"--path.sysfs={folder / 'sys'}",
        f"--path.procfs={proc}",
        f"--path.kmsg={folder / 'no-kmsg'}",
        *flags,
        nvml=nvml,
    )
    running.wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > 3)
    return running.wait_for(settled)


def settled(scrape: Scrape) -> bool:
    """Return whether what needs two looks has had them: the sampler, and GPM on the GPU and on each instance."""
    if scrape.value(metrics.CLOCKS_EVENT_EPISODES, 0, reason="gpu_idle") is None:
        return False
    if scrape.value(metrics.CAPABILITY, 0, feature="activity") == 1 and scrape.value(metrics.SM_ACTIVE, 0) is None:
        return False
    names = [name for name, _ in scrape.samples]
    return names.count(metrics.MIG_SM_ACTIVE.name) == names.count(metrics.MIG_INFO.name)


def steady(text: str) -> str:
    """Return the lines that are the same at every scrape, in order."""
    momentary = tuple(f"{metric}{{" for metric in MOMENTARY)
    lines = (line for line in text.splitlines() if not OF_THE_PROCESS.match(line))
    return "".join(f"{line.rpartition(' ')[0]} 0.0\n" if line.startswith(momentary) else f"{line}\n" for line in lines)


@pytest.mark.parametrize("name", CASES)
def test_a_gpu_shows_what_its_golden_file_says(name: str, exporter: Start, nvml: FakeNvml, tmp_path: Path) -> None:
    profile, flags = CASES[name]
    scrape = scrape_of(profile, exporter, nvml, tmp_path, *flags)
    golden = GOLDEN / f"{name}.prom"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(steady(scrape.text))
    assert steady(scrape.text) == golden.read_text()


@pytest.mark.tool("promtool")
@pytest.mark.parametrize("name", CASES)
def test_promtool_likes_the_golden_file(name: str, tool: Callable[[str], Path]) -> None:
    text = (GOLDEN / f"{name}.prom").read_text()
    checked = subprocess.run(
        [tool("promtool"), "check", "metrics"], input=text, text=True, capture_output=True, check=False
    )
    assert checked.stdout + checked.stderr == ""
    assert checked.returncode == 0


def test_at_most_100_series_per_gpu(exporter: Start, nvml: FakeNvml, tmp_path: Path) -> None:
    # An H200 with every reason that is known: no GPU has more. MIG instances and further processes come on top.
    scrape = scrape_of("h200", exporter, nvml, tmp_path, more="supported_reasons 0xffff\n")
    assert scrape.value(metrics.CLOCKS_EVENT_EPISODES, 0, reason="reliability") == 0
    # Where the kernel's log is readable, XIDs from it are pre-created as well.
    assert scrape.value(metrics.XID_SOURCE, source="kmsg") == 0
    assert scrape.series_of_gpu(0) + len(catalogue.OFTEN_ONLY_IN_LOG) <= MOST_SERIES_PER_GPU


def test_every_metric_of_a_gpu_is_in_some_golden_file() -> None:
    shown = "".join((GOLDEN / f"{name}.prom").read_text() for name in CASES)
    per_gpu = {metric.name for metric in metrics.ALL if "gpu" in metric.labels}
    # These need a GPU that shares the host's memory, one in a rack, an old one, or something that happens.
    elsewhere = {
        metrics.MEMORY_UNIFIED,
        metrics.UNIFIED_TOTAL,
        metrics.UNIFIED_AVAILABLE,
        metrics.MODULE_POWER,
        metrics.C2C_LINKS,
        metrics.C2C_LINKS_ACTIVE,
        metrics.PLATFORM_INFO,
        metrics.PROTECTED_MEMORY_USED,
        metrics.RETIRED_PAGES,
        metrics.RETIRED_PAGES_PENDING,
        metrics.REPAIR_PENDING,
        metrics.PROCESS_SM_UTILIZATION,
        metrics.XID_LAST_TIMESTAMP,
        metrics.EVENTS,
    }
    assert {name for name in per_gpu if f"\n{name}{{" not in shown} == {str(metric) for metric in elsewhere}

"""Complaints of exporters that do not live through what happens to GPUs and drivers: through the real pynvml."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gpu_process import Exporter, FakeNvml
from gpu_sysfs import add_gpu, set_power

from exporters.gpu import metrics
from exporters.gpu.collectors import COLLECTORS

pytestmark = pytest.mark.tool("gcc")

Start = Callable[..., Exporter]
QUICK = "--gpu.interval=200ms"
EVERYTHING = [f"--collector.{name}" for name in COLLECTORS]
UNKNOWN = 999
# The pauses between two attempts are left out: they would be half a minute.
IMPATIENT = "from exporters.gpu import fleet\nfleet.FIRST_RETRY_SECONDS = fleet.LONGEST_RETRY_SECONDS = 0.05"


@pytest.mark.complaint(4)
def test_a_container_that_lost_its_devices_ends_so_that_a_new_one_is_started(exporter: Start, nvml: FakeNvml) -> None:
    running = exporter(QUICK, nvml=nvml, before=IMPATIENT)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    # As after a `systemctl daemon-reload`: what is open fails, and nothing can be opened again.
    nvml.tell(init=UNKNOWN, _0__all=UNKNOWN, _1__all=UNKNOWN)
    assert running.wait() == 3, running.log
    assert "it has lost its /dev/nvidia* devices" in running.log
    assert nvml.calls("nvmlInitWithFlags") > 3


@pytest.mark.complaint(4)
def test_a_container_that_gets_its_devices_back_in_time_goes_on(exporter: Start, nvml: FakeNvml) -> None:
    running = exporter(QUICK, nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    nvml.tell(init=UNKNOWN, _0__all=UNKNOWN, _1__all=UNKNOWN)
    scrape = running.wait_for(lambda s: s.value(metrics.NVML_INIT_ERROR_CODE) == UNKNOWN)
    assert scrape.value(metrics.UP, 0) == scrape.value(metrics.UP, 1) == 0
    nvml.tell()
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    assert scrape.value(metrics.NVML_INIT_ERROR_CODE) == 0


@pytest.mark.complaint(26)
def test_three_scrapers_at_once_work_the_driver_no_more_than_none(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1)
    running = exporter("--gpu.interval=1h", "--gpu.sampler-hz=0", *EVERYTHING, nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    before = len(nvml.log())
    with ThreadPoolExecutor(3) as scrapers:
        shown = list(scrapers.map(lambda _: running.scrape().value(metrics.UP, 0), range(30)))
    assert shown == [1] * 30
    waited_for = {line for line in nvml.log()[before:] if not line.startswith("nvmlEventSetWait")}
    assert waited_for == set()


def descriptors(running: Exporter) -> int:
    return len(list(Path(f"/proc/{running.pid}/fd").iterdir()))


@pytest.mark.complaint(27)
def test_nvml_is_initialised_once_and_no_descriptor_is_left_open(exporter: Start, nvml: FakeNvml) -> None:
    running = exporter("--gpu.interval=20ms", *EVERYTHING, nvml=nvml)
    running.wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > 20)
    warm = descriptors(running)
    running.wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > 120)
    assert nvml.calls("nvmlInitWithFlags") == 1
    # A connection and the file to which the fake library writes may be open at one look and not at the other.
    assert descriptors(running) <= warm + 2
    for again in range(1, 6):
        nvml.tell(_0__all=1, _1__all=1)
        running.wait_for(lambda s: s.value(metrics.UP, 0) == 0)
        nvml.tell()
        running.wait_for(lambda s, again=again: s.value(metrics.UP, 0) == 1 and s.value(metrics.NVML_REINITS) == again)
    assert nvml.calls("nvmlInitWithFlags") == nvml.calls("nvmlShutdown") + 1
    assert descriptors(running) <= warm + 2


@pytest.mark.complaint(33)
def test_a_gpu_is_known_by_its_uuid_wherever_its_index_goes(exporter: Start, nvml: FakeNvml) -> None:
    running = exporter(QUICK, nvml=nvml)
    nvml.tell(_0__energy=1_000_000, _1__energy=2_000_000)
    scrape = running.wait_for(lambda s: s.value(metrics.ENERGY, 1) == 2000)
    uuids = [scrape.uuid(0), scrape.uuid(1)]
    assert scrape.value(metrics.ENERGY, uuid=uuids[0]) == 1000
    # The driver was loaded anew, and numbers them the other way round.
    nvml.tell(_0__all=1, _1__all=1)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 0)
    nvml.tell(_0__uuid_number=1, _1__uuid_number=0, _0__energy=2_000_000, _1__energy=1_000_000)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    assert [scrape.uuid(0), scrape.uuid(1)] == uuids[::-1]
    assert scrape.value(metrics.ENERGY, uuid=uuids[0]) == 1000
    assert scrape.value(metrics.ENERGY, uuid=uuids[1]) == 2000
    # CUDA_DEVICE_ORDER=PCI_BUS_ID can be told from the address.
    assert scrape.value(metrics.INFO, 0, uuid=uuids[1], pci_bus_id="00000000:0F:00.0") == 1


@pytest.mark.complaint(35)
def test_a_gpu_that_sleeps_is_not_woken(exporter: Start, nvml: FakeNvml, tmp_path: Path) -> None:
    sleeper = add_gpu(tmp_path, "0000:17:00.0")
    add_gpu(tmp_path, "0000:0f:00.0")
    running = exporter(QUICK, *EVERYTHING, f"--path.sysfs={tmp_path}", nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    set_power(sleeper, "suspended")
    scrape = running.wait_for(lambda s: s.value(metrics.SUSPENDED, 1) == 1)
    assert scrape.of_gpu(1) <= {metrics.SUSPENDED.name, metrics.XID_ERRORS.name}
    before = len(nvml.log())
    now = nvml.calls("nvmlDeviceGetPowerUsage", 0)
    running.wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > now + 5)
    assert [line for line in nvml.log()[before:] if re.search(r" 1$", line)] == []
    set_power(sleeper, "active")
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)

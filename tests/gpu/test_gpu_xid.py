"""XIDs: read from two sources, counted once."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gpu_fakes import FakeDevice, FakeDriver, FakeXidEvents, wait_until
from gpu_process import Exporter, FakeNvml
from hypothesis import given
from hypothesis import strategies as st

from exporters.gpu import metrics
from exporters.gpu.answers import XidEvent
from exporters.gpu.errors import GpuDeadError
from exporters.gpu.tally import Tally
from exporters.gpu.xid import catalogue
from exporters.gpu.xid.incidents import SAME_WITHIN_SECONDS, Incidents, Key, precreated
from exporters.gpu.xid.kernel_log import Address, KernelLog, LogLine, address, parse
from exporters.gpu.xid.watch import XidWatch

QUICK = "--gpu.interval=200ms"
AT = Address(0, 0x0F, 0)
LINE = "4,1234,5678901,-;NVRM: Xid (PCI:0000:0f:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (LINE, LogLine(AT, 79)),
        ("6,1,2,-;NVRM: Xid (0000:01:00): 31, Ch 0000000b, engmask 00000120, intr 10000000", LogLine((0, 1, 0), 31)),
        ("4,1,2,-;NVRM: Xid (PCI:0000:81:00 GPU-I:05): 94, Contained", LogLine((0, 0x81, 0), 94)),
        ("4,1,2,-;NVRM: Xid (PCI:0009:AB:1c.0): 119, pid=1", LogLine((9, 0xAB, 0x1C), 119)),
        ("4,1,2,c,caller=T7;NVRM: Xid (PCI:0000:0f:00): 62", LogLine(AT, 62)),
        ("4,1,2,-;NVRM: GPU at PCI:0000:0f:00: GPU-0b11d014", None),
        ("4,1,2,-;usb 1-1: NVRM: Xid (PCI:0000:0f:00): 79", None),
        ("NVRM: Xid (PCI:0000:0f:00): 79", None),
        # What a program writes there has the facility "user".
        (LINE.replace("4,", "12,", 1), None),
        (" SUBSYSTEM=pci", None),
        ("", None),
    ],
)
def test_lines_of_the_kernel_log(record: str, found: LogLine | None) -> None:
    assert parse(record) == found


@given(st.text())
def test_no_record_breaks_the_parser(record: str) -> None:
    parse(record)
    parse(f"4,1,2,-;NVRM: Xid ({record}")


@pytest.mark.parametrize(
    ("text", "found"), [("00000000:0F:00.0", AT), ("0000:0f:00.0", AT), ("SIMULATED:00:00.0", None), ("", None)]
)
def test_addresses(text: str, found: Address | None) -> None:
    assert address(text) == found


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_xid_that_both_sources_tell_of_counts_once() -> None:
    clock = Clock()
    incidents = Incidents(clock)
    incidents.from_log("GPU-0", 31)
    incidents.from_driver("GPU-0", 31)
    incidents.from_driver("GPU-0", 48)
    incidents.from_log("GPU-0", 48)
    clock.now = 2 * SAME_WITHIN_SECONDS
    assert incidents.counts() == {Key("GPU-0", 31, "nvml"): 1, Key("GPU-0", 48, "nvml"): 1}


def test_what_only_the_log_tells_counts_after_a_while() -> None:
    clock = Clock()
    incidents = Incidents(clock)
    incidents.from_log("GPU-0", 79)
    incidents.from_log("GPU-0", 79)
    incidents.from_driver("GPU-0", 79)
    incidents.from_driver("GPU-1", 79)
    assert incidents.counts() == {Key("GPU-0", 79, "nvml"): 1, Key("GPU-1", 79, "nvml"): 1}
    clock.now = SAME_WITHIN_SECONDS + 0.1
    assert incidents.counts()[Key("GPU-0", 79, "kmsg")] == 1
    # An event of long ago answers for no line of now.
    incidents.from_log("GPU-1", 79)
    clock.now += SAME_WITHIN_SECONDS + 0.1
    assert incidents.counts()[Key("GPU-1", 79, "kmsg")] == 1


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 3)), max_size=40))
def test_no_xid_is_lost_and_none_counts_twice(told: list[tuple[bool, float]]) -> None:
    clock = Clock()
    incidents = Incidents(clock)
    by_driver = 0
    for from_driver, pause in told:
        clock.now += pause
        by_driver += from_driver
        (incidents.from_driver if from_driver else incidents.from_log)("GPU-0", 48)
    clock.now += 2 * SAME_WITHIN_SECONDS
    counts = incidents.counts()
    assert counts.get(Key("GPU-0", 48, "nvml"), 0) == by_driver
    assert max(by_driver, len(told) - by_driver) <= sum(counts.values()) <= len(told)


def test_when_an_xid_was_last_told_whoever_told() -> None:
    wall = Clock()
    incidents = Incidents(Clock(), wall)
    wall.now = 1000.0
    incidents.from_driver("GPU-0", 48)
    incidents.from_driver("GPU-1", 79)
    wall.now = 1060.0
    incidents.from_log("GPU-0", 48)
    assert incidents.last("GPU-0") == {48: 1060.0}
    assert incidents.last("GPU-2") == {}


def test_other_events_are_counted_by_gpu() -> None:
    incidents = Incidents()
    for uuid in ("GPU-0", "GPU-1", "GPU-0"):
        incidents.happened(uuid, "poison_fatal")
    assert incidents.events("GPU-0") == {"poison_fatal": 2}
    assert incidents.events("GPU-2") == {}


def test_important_xids_are_there_before_they_happen() -> None:
    nvml = {key.xid for key in precreated("GPU-0", {"nvml": True, "kmsg": False})}
    assert nvml == set(catalogue.IMPORTANT)
    both = precreated("GPU-0", {"nvml": True, "kmsg": True})
    assert {key.xid for key in both if key.source == "kmsg"} == set(catalogue.OFTEN_ONLY_IN_LOG)
    log_alone = precreated("GPU-0", {"nvml": False, "kmsg": True})
    assert {key.source for key in log_alone} == {"kmsg"}
    assert {key.xid for key in log_alone} == {*catalogue.IMPORTANT, *catalogue.OFTEN_ONLY_IN_LOG}
    assert precreated("GPU-0", {"nvml": False, "kmsg": False}) == []
    assert {*catalogue.IMPORTANT, *catalogue.OFTEN_ONLY_IN_LOG} <= set(catalogue.MEANINGS)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[Path, list[LogLine], KernelLog]]:
    path = tmp_path / "kmsg"
    path.write_text(f"{LINE}\n")
    told: list[LogLine] = []
    reader = KernelLog(path, told.append)
    yield path, told, reader
    reader.stop()


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_the_log_is_read_from_now_on(log: tuple[Path, list[LogLine], KernelLog]) -> None:
    path, told, reader = log
    reader.start()
    assert reader.live
    append(path, f"{LINE.replace('79', '48')}\n SUBSYSTEM=pci\n{LINE[:30]}")
    wait_until(lambda: told == [LogLine(AT, 48)])
    append(path, f"{LINE[30:]}\n")
    wait_until(lambda: told == [LogLine(AT, 48), LogLine(AT, 79)])


def test_a_log_that_cannot_be_read_is_done_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    reader = KernelLog(tmp_path / "absent", lambda _: None)
    reader.start()
    assert not reader.live
    assert "needs root or CAP_SYSLOG" in caplog.text
    reader.stop()


def test_a_full_ring_is_read_on(log: tuple[Path, list[LogLine], KernelLog], monkeypatch: pytest.MonkeyPatch) -> None:
    path, told, reader = log
    reader.start()
    read, overwritten = os.read, threading.Event()

    def once_overwritten(file: int, size: int) -> bytes:
        if not overwritten.is_set() and threading.current_thread().name == "kernel-log":
            overwritten.set()
            raise BrokenPipeError
        return read(file, size)

    monkeypatch.setattr(os, "read", once_overwritten)
    append(path, f"{LINE}\n")
    wait_until(lambda: told == [LogLine(AT, 79)])
    assert overwritten.is_set()


def test_errors_of_waiting_make_no_hot_loop() -> None:
    driver, tally = FakeDriver(FakeDevice(0)), Tally()
    driver.xids = events = FakeXidEvents()
    watch = XidWatch(driver, tally, None, lambda _: None)
    watch.open()
    wait_until(lambda: watch.sources() == {"nvml": True, "kmsg": False})
    for _ in range(3):
        events.queue.put(GpuDeadError("nvmlEventSetWait_v2", 15, "gpu_is_lost"))
    wait_until(lambda: not watch.sources()["nvml"])
    assert tally.errors() == {("nvmlEventSetWait_v2", "gpu_is_lost"): 1}
    events.queue.put(XidEvent("GPU-0", 48))
    wait_until(lambda: bool(watch.incidents.counts()))
    assert watch.sources()["nvml"]
    assert watch.close(30)
    assert events.closed == 1


def test_a_driver_without_events_is_no_source() -> None:
    watch = XidWatch(FakeDriver(), Tally(), None, lambda _: None)
    watch.open()
    watch.watch(FakeDevice(0))
    assert watch.sources() == {"nvml": False, "kmsg": False}
    assert watch.close(30)


@pytest.mark.complaint(6, 7)
@pytest.mark.tool("gcc")
def test_xids_of_a_process(exporter: Callable[..., Exporter], nvml: FakeNvml, tmp_path: Path) -> None:
    kmsg = tmp_path / "kmsg"
    kmsg.write_text("")
    running = exporter(QUICK, f"--path.kmsg={kmsg}", nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 1) == 1 and s.value(metrics.XID_SOURCE, source="nvml") == 1)
    assert scrape.value(metrics.XID_SOURCE, source="kmsg") == 1
    assert scrape.value(metrics.XID_ERRORS, 1, xid="48", source="nvml") == 0
    assert scrape.value(metrics.XID_INFO, xid="79", severity="critical", action="reboot_node") == 1
    nvml.tell(_1__xid=48)
    running.wait_for(lambda s: s.value(metrics.XID_ERRORS, 1, xid="48", source="nvml") == 1)
    # The same number again is a second one.
    nvml.tell(_1__xid=48, _1__xid_number=2)
    running.wait_for(lambda s: s.value(metrics.XID_ERRORS, 1, xid="48", source="nvml") == 2)
    # The log tells of the last one too, of one on GPU 0 that NVML is silent about, and of a GPU that is not ours.
    append(kmsg, f"{LINE.replace('79', '48').replace('0f', '17')}\n{LINE}\n{LINE.replace('0f', 'ff')}\n")
    scrape = running.wait_for(lambda s: s.value(metrics.XID_ERRORS, 0, xid="79", source="kmsg") == 1)
    assert scrape.value(metrics.XID_ERRORS, 1, xid="48", source="nvml") == 2
    assert scrape.value(metrics.XID_ERRORS, 1, xid="48", source="kmsg") is None
    assert "shows this exporter no GPU" in running.log
    assert running.stop() == 0
    assert nvml.calls("nvmlEventSetFree") == nvml.calls("nvmlEventSetCreate") == 1


@pytest.mark.tool("gcc")
def test_xids_outlive_the_gpu(exporter: Callable[..., Exporter], nvml: FakeNvml) -> None:
    running = exporter(QUICK, "--path.kmsg=/absent", nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.UP, 1) == 1)
    nvml.tell(_1__xid=79)
    running.wait_for(lambda s: s.value(metrics.XID_ERRORS, 1, xid="79") == 1)
    nvml.tell(_1__xid=79, _1__all=15)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 1) == 0)
    assert scrape.value(metrics.XID_ERRORS, 1, xid="79") == 1
    assert scrape.value(metrics.XID_SOURCE, source="kmsg") == 0


def test_other_events_of_a_process(exporter: Callable[..., Exporter], nvml: FakeNvml) -> None:
    # GPU 1 reports poison and recovery actions, GPU 0 nothing but XIDs: asked for more, it would refuse all.
    poison, recovery, clock = 0x2000, 0x8000, 0x10
    told = {"_1__event_types": poison | recovery | clock}
    nvml.tell(**told)
    running = exporter(QUICK, nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    nvml.tell(**told, _1__event=poison)
    scrape = running.wait_for(lambda s: s.value(metrics.EVENTS, 1, type="poison_fatal") == 1)
    assert scrape.value(metrics.EVENTS, 0) is None
    nvml.tell(**told, _1__event=recovery, _1__event_number=2, _0__xid=48)
    running.wait_for(lambda s: s.value(metrics.EVENTS, 1, type="recovery_action") == 1)
    scrape = running.wait_for(lambda s: s.value(metrics.XID_ERRORS, 0, xid="48", source="nvml") == 1)
    last = scrape.value(metrics.XID_LAST_TIMESTAMP, 0, xid="48")
    assert last is not None
    assert scrape.value(metrics.LAST_COLLECTION_TIMESTAMP, 0) == pytest.approx(last, abs=3600)
    assert scrape.value(metrics.XID_LAST_TIMESTAMP, 1) is None
    # A change of a clock comes all the time, and is not asked for.
    nvml.tell(**told, _1__event=clock, _1__event_number=3)
    nvml.tell(**told, _1__event=poison, _1__event_number=4)
    running.wait_for(lambda s: s.value(metrics.EVENTS, 1, type="poison_fatal") == 2)


def test_xids_come_also_when_another_event_is_refused(exporter: Callable[..., Exporter], nvml: FakeNvml) -> None:
    told = {"_0__event_types": 0xA000, "_0__event_refused": 0x8000}
    nvml.tell(gpus=1, **told)
    running = exporter(QUICK, nvml=nvml)
    running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    nvml.tell(gpus=1, **told, _0__xid=79)
    running.wait_for(lambda s: s.value(metrics.XID_ERRORS, 0, xid="79", source="nvml") == 1)

"""The collectors, each in a file of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from exporters.gpu.collection import Collect
from exporters.gpu.collectors import (
    activity,
    bar1,
    c2c,
    clock_event_counters,
    clock_event_details,
    clock_events,
    clocks,
    confidential_computing,
    ecc,
    ecc_details,
    energy,
    fabric,
    fans,
    info,
    inforom,
    media,
    memory,
    mig,
    modes,
    nvlink,
    pcie,
    platform,
    power,
    process,
    process_utilization,
    recovery,
    repair,
    retired_pages,
    row_remapping,
    temperature,
    thresholds,
    unified_memory,
    utilization,
    window,
)


@dataclass(frozen=True)
class Sources:
    """What collectors need besides the GPU.

    Attributes:
        window: The length in seconds of the trailing window.
        proc: Where the host's /proc is mounted.
    """

    window: float = 30.0
    proc: Path = Path("/proc")


class Collector(NamedTuple):
    """One collector.

    Attributes:
        make: Makes it.
        help: Ends the sentence "collect ...".
        on: Whether it is on unless it is switched off.
    """

    make: Callable[[Sources], Collect]
    help: str
    on: bool = True


def _plain(collect: Collect) -> Callable[[Sources], Collect]:
    return lambda _: collect


# By the name of the switch `--collector.NAME` and of the label `collector`.
COLLECTORS: Mapping[str, Collector] = {
    "info": Collector(_plain(info.collect), "what the GPU is: name, architecture, PCI address, versions"),
    "utilization": Collector(_plain(utilization.collect), "how busy the GPU and its memory bus are"),
    "utilization_window": Collector(
        lambda sources: window.utilization(sources.window), "highest and mean utilisation in the trailing window"
    ),
    "activity": Collector(_plain(activity.collect), "how busy multiprocessors, tensor cores and memory are, by GPM"),
    "memory": Collector(_plain(memory.collect), "total, used, free and reserved memory"),
    "unified_memory": Collector(
        lambda sources: unified_memory.collector(sources.proc), "the host's memory, where the GPU has none of its own"
    ),
    "temperature": Collector(_plain(temperature.collect), "temperatures, and the margin until the GPU slows down"),
    "clocks": Collector(
        _plain(clocks.collect), "clocks of multiprocessors and memory, and how fast the former could be"
    ),
    "power": Collector(_plain(power.collect), "power drawn and the limits in force"),
    "power_window": Collector(lambda sources: window.power(sources.window), "highest power in the trailing window"),
    "energy": Collector(_plain(energy.collect), "the driver's energy counter"),
    "clock_events": Collector(_plain(clock_events.collect), "the reasons that hold the clocks down now"),
    "clock_event_counters": Collector(
        _plain(clock_event_counters.collect), "how long a reason held the clocks down, by the driver's count"
    ),
    "ecc": Collector(_plain(ecc.collect), "memory errors since the driver was loaded"),
    "row_remapping": Collector(_plain(row_remapping.collect), "whether a repair of the memory waits or failed"),
    "recovery": Collector(_plain(recovery.collect), "what the driver asks to be done"),
    "pcie": Collector(_plain(pcie.collect), "how fast the PCIe link is and could be"),
    "mig": Collector(_plain(mig.collect), "instances of a GPU in MIG mode, their memory and activity"),
    "process": Collector(lambda sources: process.collector(sources.proc), "processes, their memory and whose they are"),
    "nvlink": Collector(_plain(nvlink.collect), "NVLinks that are up, their bytes and errors", on=False),
    "nvlink_links": Collector(
        _plain(nvlink.collect_links), "each NVLink: whether it is up, its speed and errors", on=False
    ),
    "activity_details": Collector(
        _plain(activity.collect_details), "occupancy and each kind of arithmetic, by GPM", on=False
    ),
    "bar1": Collector(_plain(bar1.collect), "the window through which the host reaches the memory", on=False),
    "c2c": Collector(_plain(c2c.collect), "links to the CPU of the module, such as Grace", on=False),
    "clocks_all": Collector(
        _plain(clocks.collect_more), "clocks of graphics and video as well, and what the clocks could be", on=False
    ),
    "clock_event_details": Collector(
        _plain(clock_event_details.collect),
        "which reasons the GPU can report, and for how long policies kept the clocks down",
        on=False,
    ),
    "confidential_computing": Collector(
        _plain(confidential_computing.collect), "whether the memory is closed to the host, and how much is", on=False
    ),
    "ecc_locations": Collector(_plain(ecc_details.collect_locations), "memory errors by place", on=False),
    "ecc_sram": Collector(
        _plain(ecc_details.collect_sram), "errors in the caches, and whether they are too many; needs root", on=False
    ),
    "ecc_aggregate": Collector(_plain(ecc.collect_aggregate), "memory errors in the board's life", on=False),
    "fabric": Collector(_plain(fabric.collect), "whether the GPU has joined the fabric of its NVSwitches", on=False),
    "fans": Collector(_plain(fans.collect), "the ordered and the measured speed of the fans", on=False),
    "inforom": Collector(
        _plain(inforom.collect), "whether the InfoROM is intact; reads slow flash memory, once", on=False
    ),
    "media": Collector(_plain(media.collect), "encoder, decoder, JPEG and optical flow engines", on=False),
    "modes": Collector(
        _plain(modes.collect), "persistence, ECC, MIG, accounting, compute mode and performance state", on=False
    ),
    "pcie_errors": Collector(
        _plain(pcie.collect_errors), "errors on the PCIe link by type, replays and recoveries", on=False
    ),
    "pcie_rate": Collector(
        _plain(pcie.collect_rate),
        "bytes a second over PCIe; before Hopper it blocks for 40 ms in each collection",
        on=False,
    ),
    "pcie_traffic": Collector(lambda _: pcie.traffic(), "bytes over PCIe, by the driver's counters", on=False),
    "platform": Collector(_plain(platform.collect), "where the GPU sits in a rack-scale machine", on=False),
    "power_details": Collector(
        _plain(power.collect_details), "power at this instant and of the memory, and what the limits could be", on=False
    ),
    "process_utilization": Collector(
        lambda sources: process_utilization.collector(sources.proc),
        "how much of the multiprocessors' time each process used",
        on=False,
    ),
    "repair": Collector(
        _plain(repair.collect), "repairs of the board that wait, and faults that none can cure", on=False
    ),
    "retired_pages": Collector(
        _plain(retired_pages.collect), "pages of memory that were retired, before Ampere", on=False
    ),
    "row_remapping_counts": Collector(
        _plain(row_remapping.collect_counts), "rows that were replaced, and the room for more", on=False
    ),
    "thresholds": Collector(_plain(thresholds.collect), "temperatures at which the GPU slows or shuts down", on=False),
}

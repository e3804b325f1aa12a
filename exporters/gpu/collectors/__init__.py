"""The collectors, each a function in a file of its own."""

from collections.abc import Mapping
from typing import NamedTuple

from exporters.gpu.collection import Collect
from exporters.gpu.collectors import (
    clock_event_counters,
    clock_events,
    clocks,
    energy,
    info,
    memory,
    power,
    temperature,
    utilization,
)


class Collector(NamedTuple):
    """One collector; `help` ends the sentence "collect ..."."""

    collect: Collect
    help: str


# By the name of the switch `--collector.NAME` and of the label `collector`.
COLLECTORS: Mapping[str, Collector] = {
    "info": Collector(info.collect, "name, PCI address and VBIOS version"),
    "utilization": Collector(utilization.collect, "how busy the GPU and its memory bus are"),
    "memory": Collector(memory.collect, "total, used, free and reserved memory"),
    "temperature": Collector(temperature.collect, "the temperature of the die"),
    "clocks": Collector(clocks.collect, "current and highest clocks"),
    "power": Collector(power.collect, "power drawn and power limits"),
    "energy": Collector(energy.collect, "the driver's energy counter"),
    "clock_events": Collector(clock_events.collect, "the reasons that hold the clocks down now"),
    "clock_event_counters": Collector(
        clock_event_counters.collect, "how long a reason held the clocks down, by the driver's count"
    ),
}

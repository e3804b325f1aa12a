"""The PCIe link: how fast it is, how fast it could be, what went wrong on it, and how much went over it."""

from functools import partial

from exporters.gpu import metrics
from exporters.gpu.collection import Collect, Collection
from exporters.gpu.questions import Activity, Reading
from inferwatch.metric import Metric

NEWEST_GENERATION = 10
MOST_LANES = 64
MOST_COUNTED = 2**48
# 32 bits, of which all set is no value.
MOST_REPLAYS = 2**32 - 2
MOST_BYTES = 2**63
LARGEST_32 = 2**32 - 1
KILOBYTE = 1000
MEBIBYTE = 2**20
MOST_BYTES_PER_SECOND = 1e12
ERRORS: dict[str, Reading] = {
    "correctable": "pcie_correctable_errors",
    "nonfatal": "pcie_nonfatal_errors",
    "fatal": "pcie_fatal_errors",
    "receiver": "pcie_receiver_errors",
    "bad_tlp": "pcie_bad_tlp",
    "bad_dllp": "pcie_bad_dllp",
    "nak_sent": "pcie_naks_sent",
    "nak_received": "pcie_naks_received",
    "lcrc": "pcie_lcrc_errors",
    "unsupported_request": "pcie_unsupported_requests",
}


def collect(gpu: Collection) -> None:
    """Collect how fast the link is and could be."""
    for metric, reading, least, most in _LINK:
        gpu.add_scaled(metric, partial(gpu.device.reading, reading), 1, at_least=least, at_most=most)


_LINK: tuple[tuple[Metric, Reading, int, int], ...] = (
    (metrics.PCIE_GENERATION, "pcie_generation", 1, NEWEST_GENERATION),
    (metrics.PCIE_GENERATION_MAX, "pcie_generation_max", 1, NEWEST_GENERATION),
    (metrics.PCIE_WIDTH, "pcie_width", 1, MOST_LANES),
    (metrics.PCIE_WIDTH_MAX, "pcie_width_max", 1, MOST_LANES),
)


def collect_errors(gpu: Collection) -> None:
    """Collect errors by type, how often packets were sent again and how often the link was trained again."""
    gpu.add_scaled(metrics.PCIE_REPLAYS, partial(gpu.device.reading, "pcie_replays"), 1, at_most=MOST_REPLAYS)
    gpu.add_scaled(metrics.PCIE_RECOVERIES, partial(gpu.device.reading, "pcie_recoveries"), 1, at_most=MOST_COUNTED)
    for name, reading in ERRORS.items():
        read = partial(gpu.device.reading, reading)
        gpu.add_scaled(metrics.PCIE_ERRORS, read, 1, name, at_most=MOST_COUNTED)


def traffic() -> Collect:
    """Return the collector of how many bytes went over the link, by the driver's counters.

    On some GPUs these have 32 bits (an L40S: NVIDIA/dcgm-exporter#721), and so begin anew within a second when the link
    is busy. They are believed once one of them has passed that mark, which any model that is loaded makes them do.
    """
    proven: set[str] = set()

    def collect(gpu: Collection) -> None:
        read = {metric: gpu.ask(partial(gpu.device.reading, reading), "pcie_traffic") for metric, reading in _TRAFFIC}
        values = {metric: value for metric, value in read.items() if value is not None}
        if any(value > LARGEST_32 for value in values.values()):
            proven.add(gpu.device.uuid)
        if gpu.device.uuid not in proven:
            gpu.know("pcie_traffic", False)
            return
        for metric, value in values.items():
            gpu.add(metric, value, at_most=MOST_BYTES)

    return collect


_TRAFFIC: tuple[tuple[Metric, Reading], ...] = (
    (metrics.PCIE_TRANSMITTED, "pcie_transmitted_bytes"),
    (metrics.PCIE_RECEIVED, "pcie_received_bytes"),
)


def collect_rate(gpu: Collection) -> None:
    """Collect how many bytes a second went over the link.

    Without GPM the driver measures for 20 ms each way and blocks so long.
    """
    active = gpu.ask(gpu.device.activity)
    for metric, activity, reading in _RATE:
        if active is None or (active and activity not in active):
            read = partial(gpu.device.reading, reading)
            gpu.add_scaled(metric, read, KILOBYTE, at_most=MOST_BYTES_PER_SECOND)
        elif activity in active:
            gpu.add(metric, active[activity] * MEBIBYTE, at_most=MOST_BYTES_PER_SECOND)


_RATE: tuple[tuple[Metric, Activity, Reading], ...] = (
    (metrics.PCIE_TRANSMITTING, "pcie_transmit", "pcie_transmitting_kilobytes_per_second"),
    (metrics.PCIE_RECEIVING, "pcie_receive", "pcie_receiving_kilobytes_per_second"),
)

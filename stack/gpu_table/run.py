"""Collects this machine's GPUs as the exporter does, and shows them until Ctrl-C, or once."""

import dataclasses
import logging
import time
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from exporters.gpu.collectors import COLLECTORS, Sources
from exporters.gpu.control import ControlFile
from exporters.gpu.driver import Driver
from exporters.gpu.fleet import Fleet
from exporters.gpu.nvml import NvmlDriver
from exporters.gpu.simulated import SimulatedDriver
from exporters.gpu.worker import Settings
from inferwatch.errors import InferwatchError
from stack.gpu_table.rows import GpuRow, row
from stack.gpu_table.table import table
from stack.gpus import real_gpus

# What the table shows; the exporter's other collectors cost more than a look is worth.
SHOWN = ("info", "utilization", "memory", "temperature", "clocks", "power", "clock_events")
INTERVAL = DEADLINE = 1.0
REFRESHES_PER_SECOND = 2.0
# NVML takes a few seconds to start on a machine with many GPUs and no persistence daemon.
START_SECONDS = 30.0


def show(simulate: int | None, control: Path | None, once: bool, as_json: bool) -> int:
    """Show this machine's GPUs, or so many simulated ones with the orders in a file; see `watch`.

    Raises:
        InferwatchError: As `watch`, and if there are orders for real GPUs.
    """
    if simulate is not None:
        return watch(SimulatedDriver(simulate, ControlFile(control)), Console(highlight=False), once, as_json)
    if control is not None:
        raise InferwatchError("--simulate.control orders simulated GPUs; add --simulate N, or leave it out")
    return watch(NvmlDriver(), Console(highlight=False), once, as_json)


def watch(driver: Driver, console: Console, once: bool = False, as_json: bool = False) -> int:
    """Show the GPUs of a driver: live on a terminal until Ctrl-C, else once; as JSON a list of rows.

    Returns:
        0 if every GPU is up, 1 if one is not.

    Raises:
        InferwatchError: If there is no GPU or its driver does not answer.
    """
    # What the fleet would log, the table shows, and lines between its frames would tear it.
    logging.getLogger("exporters.gpu").addHandler(logging.NullHandler())
    collectors = {name: COLLECTORS[name].make(Sources()) for name in SHOWN}
    fleet = Fleet(driver, Settings(collectors, INTERVAL, DEADLINE))
    fleet.start()
    try:
        _wait_for_first(fleet)
        if as_json:
            console.print_json(data=[dataclasses.asdict(one) for one in _rows(fleet)], highlight=False)
        elif once or not console.is_terminal:
            console.print(_table(fleet, live=False))
        else:
            _live(fleet, console)
        return 0 if all(one.up for one in _rows(fleet)) else 1
    finally:
        fleet.stop()


def _wait_for_first(fleet: Fleet) -> None:
    """Wait until each GPU was collected once, or is known to hang."""
    give_up = time.monotonic() + START_SECONDS
    while not (fleet.nvml_up and fleet.devices() and len(fleet.report()) >= fleet.devices()):
        if fleet.init_error_code or (fleet.nvml_up and not fleet.devices()):
            raise InferwatchError(_nothing())
        if time.monotonic() > give_up:
            raise InferwatchError(f"the NVIDIA driver has not answered for {START_SECONDS:.0f} s; see dmesg for Xid")
        time.sleep(0.02)


def _nothing() -> str:
    return f"{real_gpus().sentence}; inferwatch gpu --simulate 4 shows simulated ones"


def _live(fleet: Fleet, console: Console) -> None:
    with Live(console=console, auto_refresh=False, screen=False) as shown:
        try:
            while True:
                shown.update(_table(fleet, live=True), refresh=True)
                time.sleep(1 / REFRESHES_PER_SECOND)
        except KeyboardInterrupt:
            return


def _rows(fleet: Fleet) -> list[GpuRow]:
    return [row(report, fleet.simulated) for report in fleet.report()]


def _table(fleet: Fleet, live: bool) -> Table:
    versions = fleet.versions
    return table(_rows(fleet), versions.driver if versions and versions.driver else "not known", live)

"""The GPU exporter's command: `gpu-exporter`, also `python -m exporters.gpu`."""

import argparse
import gc
import logging
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from exporters.gpu import metrics
from exporters.gpu.collection import Collect
from exporters.gpu.collectors import COLLECTORS, Sources
from exporters.gpu.driver import Driver
from exporters.gpu.expected import Expected
from exporters.gpu.fleet import Fleet
from exporters.gpu.nvml import NvmlDriver
from exporters.gpu.pci import PciBus
from exporters.gpu.registry import page
from exporters.gpu.rendered import Rendered
from exporters.gpu.watchdog import Watchdog
from exporters.gpu.worker import Settings
from inferwatch import logs, service
from inferwatch.durations import parse_duration
from inferwatch.exposition import ExpositionServer

if TYPE_CHECKING:
    from inferwatch.web_config.health import WebConfigHealth
    from inferwatch.web_config.keeper import WebConfigKeeper

log = logging.getLogger("exporters.gpu")

PORT = 9810
MOST_SIMULATED = 64
MOST_EXPECTED = 1024
# The sampler's counters go on between collections, which may be far apart.
LONGEST_UNRENDERED = 5.0
# A collection may end a little later than the one before.
RENDERED_LATE = 1.0
FASTEST_HERTZ = 100.0


def main() -> None:
    """Collect and serve until SIGTERM or SIGINT."""
    service.run(_main)


def _main() -> int:
    options = _parser().parse_args()
    logs.configure(options.log_level, options.log_format)
    driver = _driver(options)
    fleet = Fleet(driver, _settings(options), _expected(options))
    web, health = _web(options.web_config_file)
    rendered = Rendered(
        page(fleet, *health),
        fleet.changed,
        fleet.good_until,
        min(options.interval, LONGEST_UNRENDERED) + RENDERED_LATE,
    )
    server = ExpositionServer("GPU exporter", options.listen, rendered, health=fleet.trouble, web=web)
    signals = service.Signals(on={signal.SIGUSR1: fleet.release, signal.SIGUSR2: fleet.resume})
    watchdog = Watchdog(fleet.hopeless)
    fleet.start()
    rendered.start()
    server.start()
    watchdog.start()
    # What is here now stays: looked through again and again, it was a tenth of the processor time.
    gc.collect()
    gc.freeze()
    signals.wait()
    watchdog.stop()
    server.stop()
    rendered.stop()
    fleet.stop()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = service.flags("gpu-exporter", "Exports what NVIDIA GPUs do, from NVML, for Prometheus.", PORT)
    collecting = parser.add_argument_group("collection")
    collecting.add_argument(
        "--gpu.interval",
        dest="interval",
        type=_duration,
        default="5s",
        metavar="DURATION",
        help="how often each GPU is collected",
    )
    collecting.add_argument(
        "--gpu.deadline",
        dest="deadline",
        type=_duration,
        default="5s",
        metavar="DURATION",
        help="how long one collection of one GPU may take before that GPU is reported as down",
    )
    collecting.add_argument(
        "--gpu.sampler-hz",
        dest="sampler_hertz",
        type=_hertz,
        default=10.0,
        metavar="HZ",
        help="how often a second the clock-event reasons are sampled; 0 samples none",
    )
    collecting.add_argument(
        "--gpu.expected",
        dest="expected",
        type=_expected_count,
        metavar="N",
        help="how many GPUs there should be; an alert compares it with those found. Without it, the PCI bus says",
    )
    collecting.add_argument(
        "--gpu.window",
        dest="window",
        type=_duration,
        default="30s",
        metavar="DURATION",
        help="the trailing window of the highest and mean utilisation and the highest power",
    )
    collecting.add_argument(
        "--path.procfs", dest="proc", type=Path, default=Path("/proc"), metavar="DIR", help="where the host's /proc is"
    )
    collecting.add_argument(
        "--path.sysfs", dest="sysfs", type=Path, default=Path("/sys"), metavar="DIR", help="where sysfs is mounted"
    )
    collecting.add_argument(
        "--path.kmsg",
        dest="kmsg",
        type=Path,
        default=Path("/dev/kmsg"),
        metavar="FILE",
        help="the kernel's log, which tells of XIDs that NVML does not; one that cannot be read is done without",
    )
    for name, collector in COLLECTORS.items():
        collecting.add_argument(
            f"--collector.{name}",
            dest=f"collector_{name}",
            action=argparse.BooleanOptionalAction,
            default=collector.on,
            help=f"collect {collector.help}",
        )
    simulation = parser.add_argument_group("simulation")
    simulation.add_argument(
        "--simulate", type=_count, metavar="N", help="serve N simulated GPUs, marked as such, instead of real ones"
    )
    simulation.add_argument(
        "--simulate.control",
        dest="control",
        type=Path,
        metavar="FILE",
        help="YAML that orders simulated GPUs to throttle, heat up or be lost; read again when it changes",
    )
    return parser


def _web(file: Path | None) -> "tuple[WebConfigKeeper | None, list[WebConfigHealth]]":
    """Return what keeps this file, and what tells how it is; without one, nothing that reads files is loaded."""
    if file is None:
        return None, []
    from inferwatch.web_config.health import WebConfigHealth
    from inferwatch.web_config.keeper import WebConfigKeeper

    keeper = WebConfigKeeper(file)
    return keeper, [WebConfigHealth(keeper, metrics.WEB_CONFIG_RELOAD_SUCCESSFUL)]


def _settings(options: argparse.Namespace) -> Settings:
    sources = Sources(options.window, options.proc)
    collectors: dict[str, Collect] = {
        name: collector.make(sources) for name, collector in COLLECTORS.items() if getattr(options, f"collector_{name}")
    }
    # The machine's own log and bus say nothing about GPUs that do not exist.
    kmsg = options.kmsg if options.simulate is None else None
    return Settings(collectors, options.interval, options.deadline, options.sampler_hertz, kmsg)


def _expected(options: argparse.Namespace) -> Expected:
    return Expected(options.expected, PciBus.of_this_machine(options.sysfs) if options.simulate is None else None)


def _driver(options: argparse.Namespace) -> Driver:
    if options.simulate is None:
        if options.control is not None:
            log.warning("--simulate.control has no effect without --simulate")
        return NvmlDriver()
    from exporters.gpu.control import ControlFile
    from exporters.gpu.simulated import SimulatedDriver

    log.warning("every GPU of this exporter is simulated: %d of them, and no hardware is read", options.simulate)
    return SimulatedDriver(options.simulate, ControlFile(options.control))


def _duration(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _hertz(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= FASTEST_HERTZ:
        raise argparse.ArgumentTypeError(f"{text!r} is not a rate from 0 to {FASTEST_HERTZ:g} a second")
    return value


def _expected_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_EXPECTED:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of GPUs from 1 to {MOST_EXPECTED}")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_SIMULATED:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of GPUs from 1 to {MOST_SIMULATED}")
    return int(text)


if __name__ == "__main__":
    main()

"""The GPU exporter's command: `gpu-exporter`, also `python -m exporters.gpu`."""

import argparse
import logging
from pathlib import Path

from exporters.gpu import metrics
from exporters.gpu.collection import Collect
from exporters.gpu.collectors import COLLECTORS
from exporters.gpu.control import ControlFile
from exporters.gpu.driver import Driver
from exporters.gpu.fleet import Fleet
from exporters.gpu.nvml import NvmlDriver
from exporters.gpu.registry import registry
from exporters.gpu.simulated import SimulatedDriver
from exporters.gpu.worker import Settings
from inferwatch import logs, service
from inferwatch.config.quantities import parse_duration
from inferwatch.exposition import ExpositionServer
from inferwatch.web_config import WebConfigHealth, WebConfigKeeper

log = logging.getLogger("exporters.gpu")

PORT = 9810
MOST_SIMULATED = 64
FASTEST_HERTZ = 100.0


def main() -> None:
    """Collect and serve until SIGTERM or SIGINT."""
    service.run(_main)


def _main() -> int:
    options = _parser().parse_args()
    logs.configure(options.log_level, options.log_format)
    driver = _driver(options)
    fleet = Fleet(driver, _settings(options))
    served = registry(fleet)
    web = WebConfigKeeper(options.web_config_file) if options.web_config_file is not None else None
    if web is not None:
        served.register(WebConfigHealth(web, metrics.WEB_CONFIG_RELOAD_SUCCESSFUL))
    server = ExpositionServer("GPU exporter", options.listen, served, health=fleet.trouble, web=web)
    signals = service.Signals()
    fleet.start()
    server.start()
    signals.wait()
    server.stop()
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
    for name, collector in COLLECTORS.items():
        collecting.add_argument(
            f"--collector.{name}",
            dest=f"collector_{name}",
            action=argparse.BooleanOptionalAction,
            default=True,
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


def _settings(options: argparse.Namespace) -> Settings:
    collectors: dict[str, Collect] = {
        name: collector.collect for name, collector in COLLECTORS.items() if getattr(options, f"collector_{name}")
    }
    return Settings(collectors, options.interval, options.deadline, options.sampler_hertz)


def _driver(options: argparse.Namespace) -> Driver:
    if options.simulate is None:
        if options.control is not None:
            log.warning("--simulate.control has no effect without --simulate")
        return NvmlDriver()
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


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_SIMULATED:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of GPUs from 1 to {MOST_SIMULATED}")
    return int(text)


if __name__ == "__main__":
    main()

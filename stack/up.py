"""`inferwatch up`: the stack against the user's own endpoints, on this machine, without containers."""

import os
from pathlib import Path

from inferwatch.config.load import load_config
from stack import launch
from stack.gpus import real_gpus
from stack.services import Place


def run_folder(name: str) -> Path:
    """Return where a run of this kind keeps its files: in the checkout, else in the user's state folder."""
    checkout = Path(__file__).parents[1]
    if os.access(checkout, os.W_OK):
        return checkout / "run" / name
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "inferwatch" / name


def up(config: Path, run_dir: Path | None, ports: dict[str, int], seconds: float | None) -> int:
    """Run the stack; see `launch.run` for the exit code and the errors.

    Raises:
        ConfigError: If the configuration cannot be used.
    """
    loaded = load_config(config, option="--config")
    gpus = real_gpus()
    notes = []
    if not loaded.targets:
        notes.append(f"{config} names no target yet, so nothing is probed; add one and it is picked up")
    if not gpus.count:
        ports = {name: port for name, port in ports.items() if name != "gpu-exporter"}
        notes.append(f"the GPU exporter is not started: {gpus.sentence}")
    place = Place((run_dir or run_folder("up")).resolve(), ports)
    with launch.locked(place.run_dir):
        return launch.run(launch.Plan(place, config.resolve(), gpus, notes=notes), seconds)

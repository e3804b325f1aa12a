"""`inferwatch demo`: the stack, a real small model to watch, and simulated users on it."""

import sys
from pathlib import Path

import yaml

from inferwatch.errors import InferwatchError
from stack import launch
from stack.demo import llm_server, openmp
from stack.gpus import Gpus, real_gpus, simulated_gpus
from stack.services import DEFAULT_PORTS, Place
from stack.supervisor import Service
from stack.up import run_folder

SERVER = "llm-server"
USERS = "simulated-users"
PORTS = DEFAULT_PORTS | {SERVER: 9813}
SIMULATED_GPUS = 4
GPUS_OF_TARGET = 2
PRICE_PER_GPU_HOUR = 2.50
_HEAD = """\
# The configuration of the running demo, written anew at each start. Edit it while the demo runs:
# a change is picked up without a restart. Try a TTFT threshold of 1ms and wait for the alert.
"""


def demo(run_dir: Path | None, ports: dict[str, int], seconds: float | None, simulate: int | None = None) -> int:
    """Run the demo; see `launch.run` for the exit code and the errors.

    Args:
        run_dir: Where to keep its files.
        ports: Port by the name of the service.
        seconds: When to end by itself; None runs until a signal comes.
        simulate: How many GPUs to simulate even if there are real ones.

    Raises:
        InferwatchError: If the model or its server is not installed, or the stack cannot start.
    """
    missing = llm_server.installed()
    if missing:
        raise InferwatchError(missing)
    place = Place((run_dir or run_folder("demo")).resolve(), ports)
    with launch.locked(place.run_dir):
        return launch.run(plan(place, choose_gpus(simulate)), seconds)


def choose_gpus(simulate: int | None) -> Gpus:
    """Return this machine's GPUs, or simulated ones where there are none or `simulate` asks for them."""
    if simulate is not None:
        return simulated_gpus(simulate, "--simulate asks for it")
    found = real_gpus()
    return found if found.count else simulated_gpus(SIMULATED_GPUS, found.sentence)


def plan(place: Place, gpus: Gpus) -> launch.Plan:
    """Write the demo's configuration and return what to run.

    Raises:
        InferwatchError: If the folder cannot be written to, or OpenMP cannot be had.
    """
    config = place.file("demo.yml")
    try:
        config.write_text(_HEAD + yaml.safe_dump(configuration(place, gpus), sort_keys=False), encoding="utf-8")
    except OSError as error:
        raise InferwatchError(f"cannot write {config}: {error}; choose another folder with --run-dir") from None
    url = place.url(SERVER, "/v1")
    server = Service(
        SERVER,
        "Model server (llama.cpp)",
        [sys.executable, "-m", "stack.demo.llm_server", f"--port={place.ports[SERVER]}"],
        ready_url=place.url(SERVER, "/health"),
        public_url=place.url(SERVER, "/metrics"),
        note=f"serves {llm_server.MODEL_NAME} on this machine's CPU",
        environ=openmp.environ(),
    )
    users = Service(
        USERS,
        "Simulated users",
        [sys.executable, "-m", "stack.demo.users", f"--url={url}", f"--model={llm_server.MODEL_NAME}"],
        note="a light load in waves; nobody real asks",
    )
    notes = [
        f"the model is real and runs on this machine's CPU; its users are simulated; {gpus.sentence}",
        f"the price of {PRICE_PER_GPU_HOUR:.2f} USD per GPU and hour is made up, and no GPU computes for this model",
        f"edit {config} while it runs: a change is picked up without a restart",
    ]
    if gpus.simulated:
        notes.append(
            f"write {{0: {{throttle: [hw_thermal_slowdown]}}}} into {place.file('gpus.yml')} to throttle a GPU"
        )
    return launch.Plan(place, config, gpus, first=[server], last=[users], notes=notes, days=2, megabytes=512)


def configuration(place: Place, gpus: Gpus) -> dict[str, object]:
    """Return the demo's configuration as data; objectives are wide enough for a small shared CPU."""
    return {
        "defaults": {"interval": "15s", "timeout": "30s"},
        "targets": [
            {
                "name": "demo",
                "url": place.url(SERVER, "/v1"),
                "model": llm_server.MODEL_NAME,
                "engine": "llamacpp",
                "metrics": [place.url(SERVER, "/metrics")],
                "slo": {
                    "ttft": {"threshold": "15s", "quantile": 0.95},
                    "tpot": {"threshold": "500ms", "quantile": 0.95},
                    "e2e": {"threshold": "30s", "quantile": 0.95},
                },
                "gpus": {"node": "local", "indices": list(range(min(GPUS_OF_TARGET, gpus.count)))},
                "cost": {"per_gpu_hour": PRICE_PER_GPU_HOUR, "currency": "USD"},
                "labels": {"purpose": "demo"},
            }
        ],
        "scenarios": {"short": {"prompt": "Count from one to ten in words.", "max_tokens": 32}},
    }

"""Runs a stack on this machine without containers: files, processes, the printed address, the end."""

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inferwatch.errors import InferwatchError
from stack import ports, runconfig, services
from stack.debs import Say
from stack.disk import DiskWatch
from stack.gpus import Gpus
from stack.services import CONTAINER_ADDRESSES, NEVER_HERE, Place
from stack.supervisor import Service, Stopped, Supervisor
from stack.tools import ensure_tools


@dataclass(frozen=True)
class Plan:
    """One stack to run.

    Attributes:
        place: Folder and ports.
        config: The configuration file that the probe exporter reads.
        gpus: What the GPU exporter watches; with a count of 0 it is not started.
        first: Services that are started before the stack's own, e.g. the demo's model server.
        last: Services that are started once the others answer, e.g. the demo's users.
        notes: Sentences that the start page and the terminal show.
        days: How long Prometheus keeps samples.
        megabytes: How much disk Prometheus may use for them.
    """

    place: Place
    config: Path
    gpus: Gpus
    first: Sequence[Service] = ()
    last: Sequence[Service] = ()
    notes: Sequence[str] = field(default=())
    days: int = 15
    megabytes: int = 2048


def prepare(plan: Plan, tools: Mapping[str, Path]) -> list[Service]:
    """Write the files of the run and return its services in the order to start them.

    Raises:
        InferwatchError: If a file cannot be read or written.
    """
    place = plan.place
    absent = NEVER_HERE if plan.gpus.count else NEVER_HERE | {CONTAINER_ADDRESSES["gpu-exporter"]}
    addresses = {address: place.listen(name) for name, address in CONTAINER_ADDRESSES.items() if name in place.ports}
    try:
        runconfig.write_prometheus(place.file("prometheus.yml"), addresses, absent, plan.config.parent)
        runconfig.write_alertmanager(place.file("alertmanager.yml"), addresses)
        own = [services.page(place), services.probe_exporter(place, plan.config)]
        if plan.gpus.count:
            own.append(services.gpu_exporter(place, plan.gpus))
        own.append(services.alertmanager(place, tools["alertmanager"], place.file("alertmanager.yml")))
        own.append(
            services.prometheus(place, tools["prometheus"], place.file("prometheus.yml"), plan.days, plan.megabytes)
        )
        started = [*plan.first, *own, *plan.last]
        place.file("services.json").write_text(json.dumps(_listing(plan, started), indent=1), encoding="utf-8")
    except OSError as error:
        raise InferwatchError(f"cannot write into {place.run_dir}: {error}; choose another with --run-dir") from None
    return started


def tell(line: str) -> None:
    """Print a line for a person; once nobody reads the output any more, the run goes on in silence."""
    try:
        print(line, flush=True)
    except OSError:
        # A closed terminal or pipe must not end the run half-way, and must not be tried again.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - stays open with the process


def run(plan: Plan, seconds: float | None, say: Say = tell) -> int:
    """Run the stack until a signal comes or the time is over, then end everything that was started.

    The caller holds the run's folder, see `locked`.

    Returns:
        0 if all services stayed up, 1 if one ended by itself or never answered.

    Raises:
        InferwatchError: If it cannot begin: a port is taken, a program cannot be had, a file cannot be written.
    """
    began = time.monotonic()
    ports.require_free(plan.place.ports)
    tools = ensure_tools(["prometheus", "alertmanager"], say=say)
    started = prepare(plan, tools)
    supervisor = Supervisor(plan.place.run_dir, Stopped().listen(), say)
    say("starting " + ", ".join(service.title for service in started))
    try:
        start_all(supervisor, started, plan.last)
        if not supervisor.stopped:
            _announce(plan, supervisor, began, seconds, say)
        supervisor.watch(seconds, DiskWatch(plan.place.run_dir, say).look)
    finally:
        states = {status.state for status in supervisor.status.values()}
        # Whoever ends it early need not wait for what was still starting.
        good = "ended" not in states and (bool(supervisor.stopped) or "starting" not in states)
        say("stopping")
        supervisor.stop_all()
        say("everything that was started has ended")
    return 0 if good else 1


def start_all(supervisor: Supervisor, started: Sequence[Service], last: Sequence[Service]) -> None:
    """Start the services and wait until they answer; those in `last` come when the others answer."""
    for service in started:
        if service not in last:
            supervisor.start(service)
    supervisor.wait_ready()
    for service in last:
        if not supervisor.stopped:
            supervisor.start(service)
    supervisor.wait_ready()


@contextlib.contextmanager
def locked(run_dir: Path) -> Iterator[None]:
    """Make the folder of a run and hold it, so that two runs never share their files.

    Raises:
        InferwatchError: If it cannot be made, or another run holds it.
    """
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        lock = (run_dir / "lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise InferwatchError(f"cannot write into {run_dir}: {error}; choose another with --run-dir") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise InferwatchError(
                f"another inferwatch (pid {lock.read().strip() or 'unknown'}) runs in {run_dir}; "
                "end it, or choose another folder with --run-dir"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def _announce(plan: Plan, supervisor: Supervisor, began: float, seconds: float | None, say: Say) -> None:
    for note in plan.notes:
        say(f"note: {note}")
    say(f"logs and data: {plan.place.run_dir}")
    ends = f"it ends by itself in {seconds:.0f} s" if seconds is not None else "Ctrl-C ends it"
    missing = [name for name, status in supervisor.status.items() if status.state != "up"]
    without = f" without {' and '.join(missing)}, see above" if missing else ""
    say(f"ready after {time.monotonic() - began:.1f} s{without}; {ends}")
    say(f"\n    {plan.place.url('page')}\n")


def _listing(plan: Plan, started: Sequence[Service]) -> dict[str, object]:
    """Return what the start page reads."""
    place = plan.place
    listed: list[dict[str, object]] = [
        {
            "name": service.name,
            "title": service.title,
            "note": service.note,
            **({"health_url": service.ready_url} if service.ready_url else {}),
            **({"public_url": service.public_url} if service.public_url else {}),
        }
        for service in started
    ]
    if not plan.gpus.count:
        listed.append({"name": "gpu-exporter", "title": "GPU exporter", "note": plan.gpus.sentence, "optional": True})
    return {
        "prometheus_url": place.url("prometheus"),
        "alertmanager_url": place.url("alertmanager"),
        "services": listed,
        "notes": list(plan.notes),
        "status_file": str(place.file("status.json")),
    }

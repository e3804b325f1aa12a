"""Starts the stack's processes, says how they are, and ends them.

Each child has a process group of its own, so that Ctrl-C reaches only this process, which then ends the children in
reverse order. Should this process be killed, the kernel ends them.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Literal

import requests

from stack.debs import Say

GRACE_SECONDS = 10.0
START_SECONDS = 60.0
LARGEST_LOG = 10 * 1024 * 1024
_POLL_SECONDS = 0.2
_PR_SET_PDEATHSIG = 1
# Loaded before any fork: between fork and exec a child must not import or allocate much.
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Service:
    """One process to run.

    Attributes:
        name: Short name, also that of its log file.
        title: What a person calls it.
        command: Program and arguments.
        ready_url: Answers 200 once the service does its work; None: it is ready when it runs.
        public_url: What a person may open in a browser.
        note: What a person should know about it, e.g. that it is simulated.
        folder: Its working directory; None is ours.
        environ: Variables added to this process's own.
        speaks: Whether its standard output goes to our terminal; its log then holds standard error only.
    """

    name: str
    title: str
    command: Sequence[str]
    ready_url: str | None = None
    public_url: str | None = None
    note: str = ""
    folder: Path | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    speaks: bool = False


@dataclass
class Status:
    """How one service is; written to the status file."""

    state: Literal["starting", "up", "ended"]
    pid: int
    exit_code: int | None = None
    detail: str = ""


class Stopped:
    """True once SIGINT, SIGTERM or SIGHUP came; a second one cuts the grace short."""

    def __init__(self) -> None:
        self.times = 0

    def listen(self) -> "Stopped":
        """Take the signals from now on; only the main thread may."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Under nohup SIGHUP is ignored, and must stay so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)
        return self

    def _handle(self, _: int, __: FrameType | None) -> None:
        self.times += 1

    def __bool__(self) -> bool:
        return self.times > 0


class Supervisor:
    """Runs services until it is told to stop.

    Args:
        run_dir: Log files are written to ``logs/`` in it, the status to ``status.json``.
        stopped: Tells when to give up waiting; its second signal cuts the grace short.
        say: Told what a person should know.
    """

    def __init__(self, run_dir: Path, stopped: Stopped, say: Say = print) -> None:
        self.status_file = run_dir / "status.json"
        self._logs = run_dir / "logs"
        self._logs.mkdir(parents=True, exist_ok=True)
        self.stopped = stopped
        self._say = say
        self._running: dict[str, tuple[Service, subprocess.Popen[bytes]]] = {}
        self.status: dict[str, Status] = {}
        self._write_status()

    def log_file(self, name: str) -> Path:
        """Return where a service's output goes."""
        return self._logs / f"{name}.log"

    def start(self, service: Service) -> None:
        """Start a process; one that cannot even be started counts as ended."""
        with self.log_file(service.name).open("ab") as log:
            try:
                process = subprocess.Popen(
                    list(service.command),
                    cwd=service.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=None if service.speaks else log,
                    stderr=log,
                    env={**os.environ, **service.environ},
                    process_group=0,
                    preexec_fn=_end_with(os.getpid()),  # noqa: PLW1509 - this process has one thread
                )
            except OSError as error:
                self.status[service.name] = Status("ended", 0, 127, f"cannot run {service.command[0]}: {error}")
                self._say(f"{service.title}: {self.status[service.name].detail}")
                self._write_status()
                return
        self._running[service.name] = (service, process)
        self.status[service.name] = Status("starting", process.pid)
        self._write_status()

    def wait_ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until every service answers or has ended, or the time is over."""
        deadline = time.monotonic() + seconds
        while not self.stopped:
            self.check()
            waiting = [name for name, status in self.status.items() if status.state == "starting"]
            if not waiting:
                return
            if time.monotonic() > deadline:
                for name in waiting:
                    self._say(f"{name} does not answer after {seconds:.0f} s and goes on; see {self.log_file(name)}")
                return
            time.sleep(_POLL_SECONDS)

    def check(self) -> None:
        """Notice and say which services have come up or ended by themselves; keep logs from filling the disk."""
        for name, (service, process) in list(self._running.items()):
            code = process.poll()
            if code is not None:
                self._ended(service, process.pid, code)
            elif self.status[name].state == "starting" and _answers(service.ready_url):
                self.status[name] = Status("up", process.pid)
                self._write_status()
                self._say(f"  up: {service.title}" + (f", {service.public_url}" if service.public_url else ""))
            _shorten(self.log_file(name))

    def _ended(self, service: Service, pid: int, code: int) -> None:
        del self._running[service.name]
        log = self.log_file(service.name)
        last = _last_lines(log)
        detail = f"{service.title} {_ending(code)}"
        self.status[service.name] = Status("ended", pid, code, detail + (f": {last[-1]}" if last else ""))
        self._write_status()
        self._say(f"{detail}; the last lines of {log}:")
        for line in last:
            self._say(f"    {line}")

    def watch(self, seconds: float | None = None, look: Callable[[], None] = lambda: None) -> None:
        """Watch the services until the time is over or a signal comes; `look` is called each time round."""
        deadline = time.monotonic() + seconds if seconds is not None else None
        while not self.stopped and (deadline is None or time.monotonic() < deadline):
            self.check()
            look()
            time.sleep(_POLL_SECONDS)

    def stop(self, name: str, grace: float = GRACE_SECONDS) -> None:
        """End one service that we started: SIGTERM, and SIGKILL once the grace is over."""
        found = self._running.pop(name, None)
        if found is None:
            return
        _, process = found
        _signal_group(process, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while process.poll() is None:
            if time.monotonic() > deadline or self.stopped.times > 1:
                self._say(f"{name} did not end in time and is killed")
                _signal_group(process, signal.SIGKILL)
                process.wait()
                break
            time.sleep(0.02)
        self.status[name] = Status("ended", process.pid, process.returncode, "stopped")
        self._write_status()

    def stop_all(self, grace: float = GRACE_SECONDS) -> None:
        """End every service that we started, the last one first."""
        for name in reversed(list(self._running)):
            self.stop(name, grace)

    def _write_status(self) -> None:
        fresh = self.status_file.with_suffix(".new")
        text = json.dumps({name: asdict(status) for name, status in self.status.items()})
        try:
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(self.status_file)
        except OSError as error:
            # A full disk must not end what still works.
            self._say(f"{self.status_file} cannot be written, so the start page may show an old state: {error}")


def _end_with(parent: int) -> Callable[[], None]:
    """Return what a child does before it becomes its program: ask the kernel to end it when `parent` dies."""

    def ask() -> None:
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

    return ask


def _answers(url: str | None) -> bool:
    if url is None:
        return True
    try:
        return requests.get(url, timeout=2).ok
    except requests.RequestException:
        return False


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    # The group's id is the child's; it cannot be anybody else's before the child was waited for.
    if process.poll() is None:
        os.killpg(process.pid, number)


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended by itself with exit code {code}"


def _last_lines(log: Path, count: int = 5) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 8192))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        return [f"(the log cannot be read: {error})"]
    return [line[:300] for line in lines if line.strip()][-count:]


def _shorten(log: Path) -> None:
    """Keep the newest part of a log that has grown too large; the child goes on appending."""
    # A log that somebody removed needs no shortening, and one that cannot be written must not end the stack.
    with contextlib.suppress(OSError):
        if log.stat().st_size > LARGEST_LOG:
            log.with_suffix(".log.1").write_bytes(log.read_bytes()[-LARGEST_LOG // 2 :])
            os.truncate(log, 0)

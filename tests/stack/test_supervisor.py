"""Starting, watching and ending real processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from stack import supervisor as module
from stack.supervisor import Service, Stopped, Supervisor

SERVER = """
import http.server, sys
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
SLEEPER = "import time; time.sleep(600)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
)


def python(name: str, code: str, *arguments: str, ready_url: str | None = None) -> Service:
    return Service(name, f"The {name}", [sys.executable, "-c", code, *arguments], ready_url=ready_url)


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.05)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(tmp_path: Path, said: list[str]) -> Iterator[Supervisor]:
    running = Supervisor(tmp_path, Stopped(), said.append)
    yield running
    running.stop_all()


def test_a_service_is_up_when_it_answers(
    supervisor: Supervisor, said: list[str], free_port: int, tmp_path: Path
) -> None:
    supervisor.start(python("server", SERVER, str(free_port), ready_url=f"http://127.0.0.1:{free_port}/"))
    assert json.loads(supervisor.status_file.read_text())["server"]["state"] == "starting"
    supervisor.wait_ready()
    written = json.loads(supervisor.status_file.read_text())["server"]
    assert written["state"] == "up"
    assert psutil.pid_exists(written["pid"])
    assert any("up: The server" in line for line in said)


def test_a_service_that_never_answers_is_named_and_left_running(
    supervisor: Supervisor, said: list[str], free_port: int
) -> None:
    supervisor.start(python("mute", SLEEPER, ready_url=f"http://127.0.0.1:{free_port}/"))
    supervisor.wait_ready(seconds=0.5)
    assert supervisor.status["mute"].state == "starting"
    assert any(line.startswith("mute does not answer") and "mute.log" in line for line in said)


def test_a_child_that_ends_is_named_with_its_last_words(supervisor: Supervisor, said: list[str]) -> None:
    supervisor.start(python("weak", "import sys; print('cannot open the door', file=sys.stderr); sys.exit(3)"))
    wait_for(lambda: supervisor.check() or supervisor.status["weak"].state == "ended", "the end")
    assert any("The weak ended by itself with exit code 3" in line for line in said)
    assert any("cannot open the door" in line for line in said)
    written = json.loads(supervisor.status_file.read_text())["weak"]
    assert written["exit_code"] == 3
    assert "cannot open the door" in written["detail"]


def test_a_child_that_is_killed_is_named_with_the_signal(supervisor: Supervisor, said: list[str]) -> None:
    supervisor.start(python("victim", SLEEPER))
    os.kill(supervisor.status["victim"].pid, signal.SIGKILL)
    wait_for(lambda: supervisor.check() or supervisor.status["victim"].state == "ended", "the end")
    assert any("was ended by SIGKILL" in line for line in said)


def test_a_program_that_is_not_there_counts_as_ended(supervisor: Supervisor, said: list[str]) -> None:
    supervisor.start(Service("ghost", "The ghost", ["/nowhere/ghost"]))
    assert supervisor.status["ghost"].state == "ended"
    assert any("cannot run /nowhere/ghost" in line for line in said)


def test_stopping_goes_in_reverse_order_and_touches_nothing_else(supervisor: Supervisor, tmp_path: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", SLEEPER])
    trace = tmp_path / "trace"
    code = (
        "import signal, sys, time\n"
        "def end(*_):\n    open(sys.argv[1], 'a').write(sys.argv[2]); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end); open(sys.argv[3], 'w'); time.sleep(600)"
    )
    try:
        for name in "abc":
            supervisor.start(python(name, code, str(trace), name, str(tmp_path / f"ready-{name}")))
        wait_for(lambda: all((tmp_path / f"ready-{name}").exists() for name in "abc"), "the handlers")
        supervisor.stop_all()
        assert trace.read_text() == "cba"
        assert {status.state for status in supervisor.status.values()} == {"ended"}
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_deaf_child_is_killed_after_the_grace(supervisor: Supervisor, said: list[str]) -> None:
    supervisor.start(python("deaf", STUBBORN))
    wait_for(lambda: "deaf" in supervisor.log_file("deaf").read_text(), "the handler")
    pid = supervisor.status["deaf"].pid
    supervisor.stop_all(grace=0.3)
    assert supervisor.status["deaf"].exit_code == -signal.SIGKILL
    assert not psutil.pid_exists(pid)
    assert any("deaf did not end in time" in line for line in said)


def test_a_status_that_cannot_be_written_is_said_and_ends_nothing(
    supervisor: Supervisor, said: list[str], tmp_path: Path
) -> None:
    (tmp_path / "status.new").mkdir()
    supervisor.start(python("sleeper", SLEEPER))
    supervisor.wait_ready()
    assert supervisor.status["sleeper"].state == "up"
    assert any("status.json cannot be written" in line for line in said)


def test_a_long_log_keeps_its_newest_part(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_LOG", 1000)
    supervisor.start(python("chatty", f"print('x' * 2000 + 'newest', flush=True); {SLEEPER}"))
    log = supervisor.log_file("chatty")
    wait_for(lambda: log.stat().st_size > 2000, "the output")
    supervisor.check()
    assert log.stat().st_size == 0
    assert log.with_suffix(".log.1").read_text().strip().endswith("newest")


PARENT = """
import signal, sys
from pathlib import Path
from stack.supervisor import Service, Stopped, Supervisor
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup, which ignores it
supervisor = Supervisor(Path(sys.argv[1]), Stopped().listen())
supervisor.start(Service("sleeper", "Sleeper", [sys.executable, "-c", "import time; time.sleep(600)"]))
supervisor.wait_ready()
supervisor.watch()
supervisor.stop_all()
"""


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process that supervises one child, without a terminal, and the pid of that child."""
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    status = tmp_path / "status.json"
    wait_for(lambda: status.exists() and '"up"' in status.read_text(), "the child")
    child = json.loads(status.read_text())["sleeper"]["pid"]
    yield process, child
    process.kill()
    process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_children_too(parent: tuple[subprocess.Popen[bytes], int], number: signal.Signals) -> None:
    process, child = parent
    process.send_signal(number)
    assert process.wait(timeout=60) == 0
    assert not psutil.pid_exists(child)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_children_end_when_the_supervisor_is_killed(parent: tuple[subprocess.Popen[bytes], int]) -> None:
    process, child = parent
    process.kill()
    process.wait()
    wait_for(lambda: not _runs(child), "the end of the orphan")


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

"""A container engine: the one that runs, else one of our own that is gone afterwards."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from commands import CommandError, run, wait_until

BRIDGE = "docker0"


@contextmanager
def engine() -> Iterator[str]:
    """Yield the address of an engine, ``unix:///...``; one that this starts is ended and its data removed.

    Raises:
        CommandError: If none runs and none can be started, with the end of its log.
    """
    address = _running()
    if address:
        yield address
        return
    # Not below the checkout: the path of a socket may be 108 bytes long, and a mount may lie in the way of overlayfs.
    with tempfile.TemporaryDirectory(prefix="inferwatch-engine-", dir="/var/tmp") as name:
        had_bridge = _has_bridge()
        try:
            with _started(Path(name)) as own:
                yield own
        finally:
            if not had_bridge and _has_bridge():
                run("ip", "link", "delete", BRIDGE)


def _running() -> str | None:
    """Return the address of the engine that the user's docker command talks to, if it answers."""
    try:
        run("docker", "info", seconds=30)
        return run("docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}").strip()
    except CommandError:
        return None


@contextmanager
def _started(folder: Path) -> Iterator[str]:
    address = f"unix://{folder}/docker.sock"
    log = folder / "log"
    command = ["dockerd", "--host", address, "--pidfile", f"{folder}/pid"]
    command += ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"]
    with log.open("w") as output:
        daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def answers() -> bool:
        if daemon.poll() is not None:
            raise CommandError(f"dockerd ended with {daemon.returncode}:\n{log.read_text()[-3000:]}")
        try:
            run("docker", "--host", address, "info", seconds=30)
        except CommandError:
            return False
        return True

    try:
        wait_until("dockerd answers", answers, 90)
        yield address
    finally:
        daemon.terminate()
        try:
            daemon.wait(60)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def _has_bridge() -> bool:
    return Path("/sys/class/net", BRIDGE).exists()

"""Processes that a bench starts and ends."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def stamped_server(certificate: Path | None = None) -> Iterator[list[int]]:
    """Run `bench.stamped_server` and yield its ports: HTTP, and HTTPS if it was given a certificate."""
    more = [f"--certificate={certificate}"] if certificate else []
    command = [sys.executable, "-m", "bench.stamped_server", *more]
    with running(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield [int(port) for port in process.stdout.readline().split()]


@contextmanager
def exporter(
    module: str, log: Path, *flags: str, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[int, str]]:
    """Run a service of ours on a free port and yield its process id and base URL once it listens.

    `environment` holds variables beside those of this process.
    """
    command = [sys.executable, "-m", module, "--web.listen-address=127.0.0.1:0", *flags]
    with (
        log.open("wb") as writing,
        running(command, stderr=writing, env={**os.environ, **(environment or {})}) as process,
    ):
        # The file grows while it is read.
        with log.open() as reading:
            said = ""
            while not (listening := re.search(r"listening on (http://[0-9.:]+)", said)):
                said += reading.read()
                if process.poll() is not None:
                    raise RuntimeError(f"{module} ended with {process.returncode}: {said}")
        yield process.pid, listening[1]


@contextmanager
def running(command: list[str], **pipes: object) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process until the block ends."""
    process: subprocess.Popen[bytes] = subprocess.Popen(command, **pipes)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def certificate(folder: Path) -> Path | None:
    """Make a certificate for localhost with its key behind it; None without the program openssl."""
    file = folder / "localhost.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=bench"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "certificate.pem"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        return None
    file.write_text((folder / "certificate.pem").read_text() + (folder / "key.pem").read_text())
    return file

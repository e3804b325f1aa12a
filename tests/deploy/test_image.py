"""The Dockerfile, by rules of our own, and the scripts that it puts on PATH."""

import os
import re
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from compose import CHECKOUT, services

DOCKERFILE = (CHECKOUT / "Dockerfile").read_text(encoding="utf-8")
BIN = CHECKOUT / "deploy" / "bin"
# One instruction per line, with its continuations.
INSTRUCTIONS = [
    line for line in re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", DOCKERFILE)).splitlines() if line.strip()
]


def instructions(keyword: str) -> list[str]:
    """Return the arguments of every instruction of one kind."""
    return [line.split(None, 1)[1] for line in INSTRUCTIONS if line.split(None, 1)[0] == keyword]


def stage(name: str) -> list[str]:
    """Return the instructions of one stage."""
    found: list[str] = []
    inside = False
    for line in INSTRUCTIONS:
        if line.startswith("FROM "):
            inside = line.endswith(f" AS {name}")
        elif inside:
            found.append(line)
    return found


def test_the_base_is_one_exact_version_that_an_argument_can_replace() -> None:
    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.11\.\d+-slim-[a-z]+", instructions("ARG")[0])
    stages = {line.split(" AS ")[1] for line in instructions("FROM")}
    for line in instructions("FROM"):
        assert line.split()[0] in {"${PYTHON_IMAGE}", *stages}


def test_packages_are_installed_by_hash_and_without_a_compiler() -> None:
    installs = [line for line in instructions("RUN") if " install " in line and "pip" in line]
    assert len(installs) == 2
    for line in installs:
        assert "--require-hashes" in line
        assert "--no-deps" in line
        assert "--only-binary=:all:" in line
    assert "PIP_NO_CACHE_DIR=1" in DOCKERFILE
    assert not any("apt-get" in line for name in ("packages", "code", "runtime") for line in stage(name))


def test_the_last_image_carries_no_pip_of_its_own_and_copies_only_what_was_made() -> None:
    assert "--without-pip" in DOCKERFILE
    assert all("--from=" in line for line in stage("runtime") if line.startswith("COPY"))
    assert all(not line.startswith("ADD ") for line in INSTRUCTIONS)
    assert not any("pip" in line for line in stage("runtime") if line.startswith("RUN"))


def test_it_runs_unprivileged_and_stops_on_sigterm() -> None:
    runtime = stage("runtime")
    for name in ("runtime", "demo"):
        assert [line for line in stage(name) if line.startswith("USER ")][-1] == "USER 65532:65532"
    assert "STOPSIGNAL SIGTERM" in runtime
    assert "ENV PYTHONDONTWRITEBYTECODE=1" in runtime
    assert instructions("FROM")[-1] == "runtime AS inferwatch", "a plain build makes the image without the demo"


def test_every_builder_can_build_it() -> None:
    assert "# syntax" not in DOCKERFILE
    assert not re.search(r"--(mount|chmod|link|parents)\b", DOCKERFILE)


def test_targets_that_compose_builds_exist() -> None:
    stages = {line.split(" AS ")[1] for line in instructions("FROM")}
    assert {service["build"]["target"] for service in services().values() if "build" in service} <= stages


def test_everything_that_is_copied_is_in_the_build_context() -> None:
    ignore = (CHECKOUT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignore
    allowed = {line[1:] for line in ignore if line.startswith("!")}
    copied = {source for line in instructions("COPY") if "--from=" not in line for source in line.split()[:-1]}
    assert copied == allowed
    assert all((CHECKOUT / source).exists() for source in copied)


def test_commands_of_the_image_are_those_of_the_project() -> None:
    declared = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    for name, place in declared.items():
        module, _, function = place.partition(":")
        text = (BIN / name).read_text(encoding="utf-8")
        assert f"from {module} import {function}\n" in text
        assert text.startswith("#!/opt/inferwatch/venv/bin/python\n")


def test_commands_that_compose_runs_are_in_the_image() -> None:
    for name, service in services().items():
        if "/" not in service["image"]:
            program = service["command"][0]
            assert program == "python" or (BIN / program).is_file(), name
            if "healthcheck" in service:
                assert (BIN / service["healthcheck"]["test"][1]).is_file(), name


def make_password(file: Path) -> subprocess.CompletedProcess[str]:
    """Run the script of the image with this Python."""
    command = [sys.executable, str(BIN / "make-password"), str(file)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


def test_a_password_is_random_private_and_not_printed(tmp_path: Path) -> None:
    passwords = []
    for name in ("one", "two"):
        done = make_password(tmp_path / name)
        assert done.returncode == 0
        passwords.append((tmp_path / name).read_text(encoding="utf-8"))
        assert passwords[-1] not in done.stdout + done.stderr
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o400
    assert passwords[0] != passwords[1]
    assert all(re.fullmatch(r"[\w-]{32}", password) for password in passwords)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["one", "two"]


def test_a_password_that_is_there_stays(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("chosen by hand\n", encoding="utf-8")
    assert make_password(file).returncode == 0
    assert file.read_text(encoding="utf-8") == "chosen by hand\n"


def test_an_empty_password_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "password").touch()
    done = make_password(tmp_path / "password")
    assert done.returncode == 1
    assert "is empty" in done.stderr


class StatusInPath(BaseHTTPRequestHandler):
    """Answers /503 with 503."""

    def do_GET(self) -> None:
        self.send_response(int(self.path[1:]))
        self.end_headers()
        self.wfile.write(b"what is wrong")

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def port() -> Iterator[int]:
    """Return the port of a server that answers with the status in the path."""
    with HTTPServer(("127.0.0.1", 0), StatusInPath) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def answers(port: int, path: str) -> subprocess.CompletedProcess[str]:
    """Run the health check of the image with this Python."""
    command = [sys.executable, "-IS", str(BIN / "answers"), str(port), path]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


def test_the_health_check_passes_on_200(port: int) -> None:
    assert answers(port, "/200").returncode == 0


def test_the_health_check_fails_on_503_and_says_what_was_answered(port: int) -> None:
    done = answers(port, "/503")
    assert done.returncode == 1
    assert "503: what is wrong" in done.stderr


def fresh(file: Path, seconds: str) -> subprocess.CompletedProcess[str]:
    """Run the other health check."""
    command = [sys.executable, "-IS", str(BIN / "fresh"), str(file), seconds]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


def test_a_heartbeat_is_fresh_or_old_or_absent(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat"
    assert "No such file" in fresh(file, "150").stderr
    file.touch()
    assert fresh(file, "150").returncode == 0
    os.utime(file, (time.time() - 200, time.time() - 200))
    done = fresh(file, "150")
    assert done.returncode == 1
    assert "was touched 20" in done.stderr


def test_the_health_check_says_that_nobody_listens(free_port: int) -> None:
    done = answers(free_port, "/healthz")
    assert done.returncode == 1
    assert "no answer" in done.stderr

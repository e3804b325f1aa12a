"""A real Prometheus, and servers whose pages it scrapes."""

import json
import os
import ssl
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DEADLINE = 60


@dataclass
class Pages:
    """A server: path with query -> text, or a function that returns it at each request.

    A path in `guarded` answers 401 to who does not bring that key; `asked` holds path and Authorization header.
    """

    pages: dict[str, str | Callable[[], str]] = field(default_factory=dict)
    guarded: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    address: str = ""


@contextmanager
def serving(pages: Pages, tls: ssl.SSLContext | None = None) -> Iterator[Pages]:
    """Serve on a free port of 127.0.0.1."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = self.headers.get("Authorization")
            pages.asked.append((self.path, given))
            page = pages.pages.get(self.path)
            status = 404 if page is None else 200
            if self.path in pages.guarded and given != f"Bearer {pages.guarded[self.path]}":
                status, page = 401, None
            body = (page() if callable(page) else page or "").encode()
            self.send_response(status)
            kind = "application/json" if body[:1] == b"[" else "text/plain; version=0.0.4"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            pass

    with Quiet(("127.0.0.1", 0), Handler) as listening:
        if tls is not None:
            listening.socket = tls.wrap_socket(listening.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
        thread.start()
        pages.address = f"127.0.0.1:{listening.server_port}"
        try:
            yield pages
        finally:
            listening.shutdown()
            thread.join()


@dataclass(frozen=True)
class Prometheus:
    """A running one."""

    url: str
    log: Path

    def get(self, path: str) -> Any:
        """Return the data of an answer of its API."""
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}", timeout=10) as answer:
            return json.load(answer)["data"]

    def query(self, expr: str) -> list[dict[str, Any]]:
        """Return the result of an instant query."""
        found: list[dict[str, Any]] = self.get(f"query?query={urllib.parse.quote(expr)}")["result"]
        return found

    def values(self, expr: str) -> list[float]:
        """Return the values of an instant query, in order."""
        return sorted(float(one["value"][1]) for one in self.query(expr))

    def targets(self) -> list[dict[str, Any]]:
        """Return what it scrapes."""
        found: list[dict[str, Any]] = self.get("targets")["activeTargets"]
        return found

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until something is true of it."""
        give_up = time.monotonic() + DEADLINE
        while not holds():
            assert time.monotonic() < give_up, f"{what} did not come\n{self.log.read_text()}"
            time.sleep(0.1)


@contextmanager
def running(program: Path, config: Path, port: int, environ: Mapping[str, str] | None = None) -> Iterator[Prometheus]:
    """Run Prometheus on a configuration, its data beside that file, until the end of the block."""
    log = config.parent / "prometheus.log"
    command = [str(program), f"--config.file={config}", f"--storage.tsdb.path={config.parent / 'data'}"]
    command.append(f"--web.listen-address=127.0.0.1:{port}")
    environ = {**os.environ, **(environ or {})}
    with log.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file, env=environ) as process:
        prometheus = Prometheus(f"http://127.0.0.1:{port}", log)

        def ready() -> bool:
            assert process.poll() is None, log.read_text()
            try:
                with urllib.request.urlopen(f"{prometheus.url}/-/ready", timeout=10):
                    return True
            except OSError:
                return False

        try:
            prometheus.until(ready, "the start of Prometheus")
            yield prometheus
        finally:
            process.terminate()

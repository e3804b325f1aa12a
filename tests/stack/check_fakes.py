"""Small real servers for the checks: routes, keys, TLS, and certificates made by openssl for the test."""

import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from inferwatch.config import parse_config
from stack.check.findings import Finding
from stack.check.run import check_target

JSON, TEXT, HTML = "application/json", "text/plain; version=0.0.4", "text/html; charset=utf-8"
LLAMACPP = "# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 0\nllamacpp:requests_deferred 0\n"
VLLM = '# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{model_name="m",engine="0"} 0\n'

SECRET = "sk-very-secret-value"


@dataclass
class Server:
    """What each path answers: status, type, body. With a key, only requests that carry it are answered."""

    routes: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    key: str | None = None
    open_paths: tuple[str, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    port: int = 0


def models(*ids: str, owner: str = "vllm") -> tuple[int, str, str]:
    data = [{"id": one, "object": "model", "owned_by": owner} for one in ids]
    return 200, JSON, json.dumps({"object": "list", "data": data})


@contextmanager
def serving(server: Server, certificate: tuple[Path, Path] | None = None) -> Iterator[Server]:
    """Serve on a free port of 127.0.0.1, with TLS where a certificate and its key are given."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            status, kind, body = server.routes.get(self.path, (404, JSON, '{"detail":"Not Found"}'))
            authorised = self.headers.get("Authorization") == f"Bearer {server.key}"
            if server.key is not None and self.path not in server.open_paths and not authorised:
                status, kind, body = 401, JSON, '{"error":{"message":"Invalid API Key"}}'
            self.send_response(status)
            for name, value in server.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass

    with Quiet(("127.0.0.1", 0), Handler) as listening:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            # The handshake happens where the first byte is read, so that a refused one does not end the server.
            listening.socket = context.wrap_socket(listening.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
        thread.start()
        server.port = listening.server_port
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()


def make_certificate(openssl: Path, folder: Path, days: float, name: str = "localhost") -> tuple[Path, Path]:
    """Make a self-signed certificate for a name that is valid until so many days from now; may be in the past."""
    key, request, certificate = folder / "key.pem", folder / "request.pem", folder / "certificate.pem"
    (folder / "index.txt").touch()
    (folder / "ca.cnf").write_text(
        "[ca]\ndefault_ca = own\n"
        f"[own]\ndatabase = {folder}/index.txt\nnew_certs_dir = {folder}\nrand_serial = yes\n"
        "default_md = sha256\npolicy = any\ncopy_extensions = copy\n"
        "[any]\ncommonName = supplied\n"
    )
    ends = datetime.now(UTC) + timedelta(days=days)
    dates = [
        "-startdate", (ends - timedelta(days=365)).strftime("%Y%m%d%H%M%SZ"),
        "-enddate", ends.strftime("%Y%m%d%H%M%SZ"),
    ]  # fmt: skip
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", str(key)]
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    _run(openssl, "req", "-new", *new_key, *subject, "-out", str(request))
    signing = ["-batch", "-notext", "-selfsign", "-config", str(folder / "ca.cnf"), "-keyfile", str(key)]
    _run(openssl, "ca", *signing, *dates, "-in", str(request), "-out", str(certificate))
    return certificate, key


def _run(openssl: Path, *arguments: str) -> None:
    done = subprocess.run([openssl, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def found(
    server: Server, extra: str = "", path: str = "/v1", scheme: str = "http", host: str = "127.0.0.1"
) -> list[Finding]:
    """Check a target that points to a server; `extra` are further keys of the target."""
    text = f"targets:\n- {{name: t, url: '{scheme}://{host}:{server.port}{path}'{extra and ', ' + extra}}}\n"
    config = parse_config(text, "inferwatch.yml", {})
    return check_target(config, config.targets[0])


def one(findings: list[Finding], step: str) -> Finding:
    (finding,) = [finding for finding in findings if finding.step == step]
    return finding

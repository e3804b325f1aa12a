"""Real handshakes with a server of ours, and what a change of the files does to it."""

import http.client
import shutil
import socket
import ssl
import threading
import time
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from certificates import Authority
from prometheus_client import CollectorRegistry
from web_config_files import TLS, USER, basic, get, hashed

from inferwatch.exposition import ExpositionServer, Request, Response, Route
from inferwatch.http_server import split_address
from inferwatch.metric import Metric
from inferwatch.web_config import handshake
from inferwatch.web_config.health import WebConfigHealth
from inferwatch.web_config.keeper import WebConfigKeeper

pytestmark = pytest.mark.tool("openssl")

HASH = hashed()
CLIENTS = f"{TLS}, client_ca_file: ca.pem, client_auth_type: RequireAndVerifyClientCert"


@pytest.fixture(scope="module")
def certificates(tool, tmp_path_factory) -> Authority:
    made = Authority.make(tool("openssl"), tmp_path_factory.mktemp("certificates"))
    made.sign("server")
    made.sign("prometheus", "DNS:prometheus.example")
    return made


@pytest.fixture
def authority(certificates, tmp_path, monkeypatch) -> Authority:
    """Return an authority in a folder of the test's own, which it may change."""
    monkeypatch.setattr(handshake, "_told", set())
    shutil.copytree(certificates.folder, tmp_path, dirs_exist_ok=True)
    return Authority(certificates.openssl, tmp_path)


def write(authority: Authority, text: str) -> Path:
    file = authority.folder / "web.yml"
    file.write_text(text)
    return file


class Served:
    """A server whose files are read again only when the test says so."""

    def __init__(self, keeper: WebConfigKeeper, server: ExpositionServer) -> None:
        self.keeper = keeper
        self.host, self.port = split_address(server.address)

    def url(self, scheme: str = "https") -> str:
        return f"{scheme}://localhost:{self.port}/healthz"

    def poll_until_still(self) -> None:
        self.keeper.poll()
        self.keeper.poll()

    def serial(self, authority: Authority) -> int:
        """Return the serial number of the certificate that a client is shown."""
        with (
            socket.create_connection((self.host, self.port), timeout=30) as plain,
            authority.client().wrap_socket(plain, server_hostname="localhost") as encrypted,
        ):
            return int(encrypted.getpeercert()["serialNumber"], 16)


@contextmanager
def serving(file: Path, routes=()) -> Iterator[Served]:
    keeper = WebConfigKeeper(file)
    keeper.start = keeper.stop = lambda: None
    server = ExpositionServer("test-exporter", "127.0.0.1:0", CollectorRegistry(), routes, web=keeper)
    server.start()
    try:
        yield Served(keeper, server)
    finally:
        server.stop()


# Handshakes and passwords


def test_tls(authority, caplog):
    caplog.set_level("INFO")
    with serving(write(authority, TLS + "}")) as served:
        assert get(served.url(), authority.client()) == (200, "ok\n")
        assert served.keeper.access.summary == "TLS without passwords"
    assert f"listening on https://127.0.0.1:{served.port}" in caplog.text


def test_plain_http_to_a_tls_server_is_told_what_to_write(authority):
    with serving(write(authority, TLS + "}")) as served:
        status, body = get(served.url("http"))
    assert status == 400
    assert "scheme: https" in body


def test_passwords(authority, caplog):
    caplog.set_level("DEBUG")
    users = f"\nbasic_auth_users: {{{USER}: {HASH}}}\nhttp_server_config: {{headers: {{X-Frame-Options: deny}}}}\n"
    with serving(write(authority, TLS + "}" + users)) as served:
        assert get(served.url(), authority.client(), basic()) == (200, "ok\n")
        for wrong in (None, basic(password="a wrong secret"), basic("nobody", "a wrong secret")):
            assert get(served.url(), authority.client(), wrong)[0] == 401
        # Whoever may not ask does not learn either which pages there are.
        assert get(served.url().replace("healthz", "nowhere"), authority.client())[0] == 401
        connection = http.client.HTTPSConnection("localhost", served.port, context=authority.client(), timeout=30)
        connection.request("GET", "/")
        answer = connection.getresponse()
        connection.close()
    assert answer.getheader("WWW-Authenticate") == 'Basic realm="inferwatch", charset="UTF-8"'
    assert answer.getheader("X-Frame-Options") == "deny"
    for secret in ("a wrong secret", "a right password", HASH, basic()[6:]):
        assert secret not in caplog.text


def wait_for_log(caplog, text: str) -> None:
    """Wait until the server has logged this: a client learns of a refusal before the log does."""
    give_up = time.monotonic() + 30
    while text not in caplog.text:
        assert time.monotonic() < give_up, caplog.text
        time.sleep(0.01)


def refused(served: Served, context: ssl.SSLContext) -> bool:
    """Whether a client gets no answer; with TLS 1.3 it learns that only when it reads."""
    try:
        get(served.url(), context)
    except (urllib.error.URLError, OSError, http.client.HTTPException):
        return True
    return False


def test_client_certificates(authority, caplog, tmp_path_factory):
    with serving(write(authority, CLIENTS + "}")) as served:
        assert get(served.url(), authority.client("prometheus")) == (200, "ok\n")
        assert refused(served, authority.client())
        wait_for_log(caplog, "the TLS handshake with 127.0.0.1 failed: peer did not return a certificate")
        stranger = Authority.make(authority.openssl, tmp_path_factory.mktemp("stranger"))
        stranger.sign("prometheus", "DNS:prometheus.example")
        context = authority.client()
        context.load_cert_chain(stranger.folder / "prometheus.pem", stranger.folder / "prometheus.key")
        assert refused(served, context)
        wait_for_log(caplog, "failed: certificate verify failed")


def test_a_reason_is_warned_of_once(authority, caplog):
    with serving(write(authority, CLIENTS + "}")) as served:
        caplog.set_level("DEBUG")
        for _ in range(3):
            assert refused(served, authority.client())
        give_up = time.monotonic() + 30
        while caplog.text.count("did not return") < 3:
            assert time.monotonic() < give_up, caplog.text
            time.sleep(0.01)
    assert [record.levelname for record in caplog.records if "did not return" in record.message] == [
        "WARNING",
        "DEBUG",
        "DEBUG",
    ]


def test_client_certificates_where_one_is_shown(authority):
    file = write(authority, f"{TLS}, client_ca_file: ca.pem, client_auth_type: VerifyClientCertIfGiven}}")
    with serving(file) as served:
        assert get(served.url(), authority.client())[0] == 200
        assert get(served.url(), authority.client("prometheus"))[0] == 200


def test_names_of_client_certificates(authority, caplog):
    with serving(write(authority, CLIENTS + ", client_allowed_sans: [another.example, prometheus.example]}")) as served:
        assert get(served.url(), authority.client("prometheus"))[0] == 200
        assert refused(served, authority.client("server"))
        wait_for_log(caplog, "no name in the client's certificate is in client_allowed_sans")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_versions(authority, version):
    with serving(write(authority, TLS + ", min_version: TLS13}")) as served:
        context = authority.client()
        context.maximum_version = version
        assert refused(served, context) == (version == ssl.TLSVersion.TLSv1_2)


def test_a_client_that_stops_in_its_handshake_holds_up_nobody(authority, monkeypatch):
    monkeypatch.setattr("inferwatch.http_server._Handler.timeout", 0.1)
    with (
        serving(write(authority, TLS + "}")) as served,
        socket.create_connection((served.host, served.port), timeout=30) as silent,
        socket.create_connection((served.host, served.port), timeout=30) as half,
    ):
        half.sendall(b"\x16\x03\x01\x02\x00")
        assert get(served.url(), authority.client())[0] == 200
        assert silent.recv(1) == b""
        assert half.recv(1) == b""


# Changes


def test_a_renewed_certificate_is_served(authority):
    with serving(write(authority, TLS + "}")) as served:
        assert served.serial(authority) == authority.serial("server")
        before = authority.serial("server")
        authority.sign("server")
        assert authority.serial("server") != before
        assert served.serial(authority) == before
        served.poll_until_still()
        assert served.serial(authority) == authority.serial("server")


def test_files_that_still_change_are_left_alone(authority, caplog):
    with serving(write(authority, TLS + "}")) as served:
        before = authority.serial("server")
        key = (authority.folder / "server.key").read_text()
        authority.sign("server")
        renewed = (authority.folder / "server.key").read_text()
        (authority.folder / "server.key").write_text(key)
        served.keeper.poll()  # the new certificate with the old key
        (authority.folder / "server.key").write_text(renewed)
        served.keeper.poll()
        assert served.keeper.successful
        assert served.serial(authority) == before
        served.keeper.poll()
        assert served.serial(authority) == authority.serial("server")
    assert "is not the key of" not in caplog.text


def test_a_broken_file_leaves_the_old_state_in_force(authority, caplog):
    health = Metric("web_config_last_reload_successful", "gauge", "Whether it was read.")
    with serving(write(authority, f"{TLS}}}\nbasic_auth_users: {{{USER}: {HASH}}}\n")) as served:
        registry = CollectorRegistry()
        registry.register(WebConfigHealth(served.keeper, health))
        assert registry.get_sample_value(health.name) == 1
        for text in ("", "basic_auth_users: {prometheus: open}\n", "[", TLS.replace("server.key", "none.key") + "}"):
            write(authority, text)
            served.poll_until_still()
            assert registry.get_sample_value(health.name) == 0
            assert get(served.url(), authority.client())[0] == 401
            assert get(served.url(), authority.client(), basic())[0] == 200
        assert "web.yml:1: the file is empty; for plain HTTP leave --web.config.file out; the last good" in caplog.text
        assert "web.yml:1: tls_server_config.key_file: there is no file" in caplog.text
        told = len(caplog.records)
        served.poll_until_still()
        assert len(caplog.records) == told  # not every second
        write(authority, TLS + "}")
        served.poll_until_still()
        assert registry.get_sample_value(health.name) == 1
        assert get(served.url(), authority.client())[0] == 200


def test_a_deleted_file_leaves_the_old_state_in_force(authority, caplog):
    with serving(write(authority, TLS + "}")) as served:
        (authority.folder / "web.yml").unlink()
        served.poll_until_still()
        assert not served.keeper.successful
        assert get(served.url(), authority.client())[0] == 200
    assert "web.yml: there is no such file" in caplog.text


def test_a_revoked_password_is_refused_at_once(authority):
    users = "basic_auth_users: {{prometheus: {}}}\n"
    with serving(write(authority, users.format(HASH))) as served:
        assert get(served.url("http"), authorization=basic())[0] == 200
        write(authority, users.format(hashed("another password")))
        served.poll_until_still()
        assert get(served.url("http"), authorization=basic())[0] == 401
        assert get(served.url("http"), authorization=basic(password="another password"))[0] == 200


def test_a_request_in_flight_outlives_a_reload(authority):
    inside, go_on = threading.Event(), threading.Event()

    def slow(_: Request) -> Response:
        inside.set()
        assert go_on.wait(30)
        return Response("done")

    answers = []
    with serving(write(authority, TLS + "}"), [Route("/slow", slow)]) as served:
        url = served.url().replace("healthz", "slow")
        client = threading.Thread(target=lambda: answers.append(get(url, authority.client())))
        client.start()
        assert inside.wait(30)
        authority.sign("server")
        served.poll_until_still()
        assert served.serial(authority) == authority.serial("server")
        go_on.set()
        client.join()
    assert answers == [(200, "done")]


def test_the_files_are_watched_without_being_asked(authority, monkeypatch):
    monkeypatch.setattr("inferwatch.web_config.keeper.POLL_SECONDS", 0.01)
    keeper = WebConfigKeeper(write(authority, TLS + "}"))
    before = keeper.access
    keeper.start()
    try:
        write(authority, "basic_auth_users: {}\n")
        deadline = threading.Event()
        for _ in range(3000):
            if keeper.access is not before:
                break
            deadline.wait(0.01)
        assert keeper.access.tls is None
    finally:
        keeper.stop()
    assert not any(thread.name == "web-config" for thread in threading.enumerate())

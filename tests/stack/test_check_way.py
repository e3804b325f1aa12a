"""The way to a server: each finding about names, connections and TLS, against real sockets."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from check_fakes import Server, found, make_certificate, models, one, serving

from stack.check import container, reach
from stack.check.findings import Finding


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the checks believe that they run outside a container, wherever the tests do."""
    monkeypatch.setattr(reach, "inside_container", lambda: False)


def test_a_name_that_does_not_resolve() -> None:
    finding = one(reach.reach("http://no-such-host.invalid/v1"), "dns")
    assert finding.level == "fail"
    assert finding.text.startswith("no-such-host.invalid does not resolve: ")


def test_the_hosts_alias_outside_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    _unresolvable(monkeypatch)
    finding = one(reach.reach("http://host.docker.internal:8000/v1"), "dns")
    assert "exists only inside containers; here write 127.0.0.1" in finding.todo


def test_the_hosts_alias_in_a_container_that_lacks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _unresolvable(monkeypatch)
    monkeypatch.setattr(reach, "inside_container", lambda: True)
    finding = one(reach.reach("http://host.docker.internal:8000/v1"), "dns")
    assert "extra_hosts" in finding.todo


def test_a_resolver_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: release.wait(60) and [])
    monkeypatch.setattr(reach, "TIMEOUT", 0.05)
    finding = one(reach.reach("http://slow.example/v1"), "dns")
    release.set()
    assert finding.text == "slow.example does not resolve: no answer within 0.05 s"


def test_a_refused_connection(free_port: int) -> None:
    finding = one(reach.reach(f"http://127.0.0.1:{free_port}/v1"), "connect")
    assert finding.level == "fail"
    assert finding.text == f"127.0.0.1:{free_port} refuses the connection"
    assert "start the server" in finding.todo


def test_a_refused_loopback_address_inside_a_container(free_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "inside_container", lambda: True)
    finding = one(reach.reach(f"http://127.0.0.1:{free_port}/v1"), "connect")
    assert "is the container itself" in finding.todo
    assert "host.docker.internal" in finding.todo
    assert "--host 0.0.0.0" in finding.todo


def test_a_server_that_listens_on_the_hosts_loopback_only(free_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As seen from a container: the alias resolves to the bridge's address, where nothing listens."""
    _resolving_to(monkeypatch, "host.docker.internal", "127.0.0.1")
    monkeypatch.setattr(reach, "inside_container", lambda: True)
    findings = reach.reach(f"http://host.docker.internal:{free_port}/v1")
    assert one(findings, "dns").text == "host.docker.internal is 127.0.0.1"
    todo = one(findings, "connect").todo
    assert "listens on the host's 127.0.0.1 only, which no container reaches" in todo
    assert "--host 0.0.0.0, or with --host 127.0.0.1, the host's address on Docker's network" in todo


def test_a_silent_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "TIMEOUT", 0.05)
    with socket.socket() as full:
        # A backlog that is full lets further connections hang, as a firewall does that drops packets.
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            finding = one(reach.reach(f"http://127.0.0.1:{port}/v1"), "connect")
    assert finding.text == f"127.0.0.1:{port} does not answer within 0.05 s"
    assert "firewall" in finding.todo


def test_a_loopback_server_is_fine_here_and_not_for_compose() -> None:
    with serving(Server({"/v1/models": models("m")})) as server:
        finding = one(found(server), "connect")
    assert finding.level == "ok"
    assert "listens on 127.0.0.1 only, which the containers of docker compose cannot reach" in finding.todo
    assert f"write http://host.docker.internal:{server.port}/v1" in finding.todo


def test_what_listens_everywhere_is_told_from_loopback() -> None:
    with socket.socket() as everywhere, socket.socket() as here:
        everywhere.bind(("0.0.0.0", 0))
        everywhere.listen()
        here.bind(("127.0.0.1", 0))
        here.listen()
        assert container.listens_on_loopback_only(everywhere.getsockname()[1]) is False
        assert container.listens_on_loopback_only(here.getsockname()[1]) is True


def test_a_container_is_recognised_by_its_marks(tmp_path: Path) -> None:
    assert not container.inside_container(tmp_path)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/user.slice\n")
    assert not container.inside_container(tmp_path)
    (tmp_path / "proc/self/cgroup").write_text("12:memory:/docker/3f9a\n")
    assert container.inside_container(tmp_path)
    (tmp_path / "proc/self/cgroup").unlink()
    (tmp_path / ".dockerenv").touch()
    assert container.inside_container(tmp_path)


def tls_finding(server: Server) -> Finding:
    return one(found(server, scheme="https", host="localhost"), "tls")


@pytest.mark.tool("openssl")
@pytest.mark.parametrize(
    ("days", "name", "level", "text"),
    [
        (200.5, "localhost", "ok", "the certificate is trusted and expires in 200 days"),
        (5.5, "localhost", "warn", "the certificate is trusted and expires in 5 days"),
        (-2, "localhost", "fail", "the certificate of localhost has expired"),
        (200, "other.example", "fail", "the certificate is not for localhost"),
    ],
)
def test_certificates(
    days: float,
    name: str,
    level: str,
    text: str,
    tool: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    certificate = make_certificate(tool("openssl"), tmp_path, days, name)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
    with serving(Server({"/v1/models": models("m")}), certificate) as server:
        finding = tls_finding(server)
    assert (finding.level, finding.text.endswith(text)) == (level, True), finding


@pytest.mark.tool("openssl")
def test_a_self_signed_certificate(
    tool: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    with serving(Server(), make_certificate(tool("openssl"), tmp_path, 100)) as server:
        findings = found(server, scheme="https", host="localhost")
    finding = one(findings, "tls")
    assert finding.text == "the certificate of localhost is self-signed or from a private authority"
    assert "tls: with ca_file:" in finding.todo
    assert not [finding for finding in findings if finding.step == "api"], "what lies behind is not tried"
    assert server.asked == []


@pytest.mark.tool("openssl")
def test_the_targets_own_authority(tool: Callable[[str], Path], tmp_path: Path) -> None:
    certificate = make_certificate(tool("openssl"), tmp_path, 100)
    with serving(Server({"/v1/models": models("m")}), certificate) as server:
        right = found(server, f"tls: {{ca_file: {certificate[0]}}}", scheme="https", host="localhost")
        absent = found(server, "tls: {ca_file: /absent/ca.pem}", scheme="https", host="localhost")
    assert one(right, "tls").level == one(right, "api").level == "ok"
    finding = one(absent, "tls")
    assert (finding.level, finding.text.partition(";")[0]) == ("fail", "tls.ca_file: there is no file /absent/ca.pem")


def test_a_target_behind_a_proxy(free_port: int) -> None:
    with serving(Server({"/v1/models": models("m")})) as server:
        # The server answers a proxy's request too, by the path alone.
        server.routes[f"http://llm.invalid:{server.port}/v1/models"] = models("m")
        through = found(server, f"proxy: 'http://127.0.0.1:{server.port}'", host="llm.invalid")
        nobody = found(server, f"proxy: 'http://127.0.0.1:{free_port}'", host="llm.invalid")
    assert one(through, "api").level == one(through, "proxy").level == "ok"
    assert not [finding for finding in through if finding.step == "dns"], "the name is the proxy's business"
    assert (one(nobody, "proxy").level, one(nobody, "proxy").text) == (
        "fail", f"127.0.0.1:{free_port} refuses the connection"
    )  # fmt: skip


def test_a_key_over_plain_http_to_the_internet(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Server()) as server:
        url = f"http://llm.example:{server.port}/v1"
        local = socket.create_connection
        _resolving_to(monkeypatch, "llm.example", "8.8.8.8")
        monkeypatch.setattr(socket, "create_connection", lambda _, **more: local(("127.0.0.1", server.port), **more))
        with_key, without = reach.reach(url, with_key=True), reach.reach(url)
    assert one(with_key, "tls").text == "the key travels to llm.example unencrypted"
    assert not [finding for finding in without if finding.step == "tls"]


@pytest.mark.tool("openssl")
def test_http_to_a_tls_server(tool: Callable[[str], Path], tmp_path: Path) -> None:
    with serving(Server(), make_certificate(tool("openssl"), tmp_path, 100)) as server:
        finding = one(found(server, host="localhost"), "api")
    assert finding.text == "the server speaks TLS, not plain HTTP"
    assert finding.todo == f"write https://localhost:{server.port}/v1"


def test_https_to_a_plain_server() -> None:
    with serving(Server({"/v1/models": models("m")})) as server:
        finding = tls_finding(server)
    assert finding.text == f"localhost:{server.port} speaks plain HTTP, not TLS"
    assert finding.todo == f"write http://localhost:{server.port}/v1"


def _unresolvable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def _resolving_to(monkeypatch: pytest.MonkeyPatch, name: str, address: str) -> None:
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *a, **k: real(address if host == name else host, *a, **k))

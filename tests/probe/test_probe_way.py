"""How requests travel: certificates of the target's own, client certificates, and a proxy that the file names."""

import base64
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from certificates import Authority
from hostile import HostileServer
from probe_helpers import scenario, target
from proxies import Proxy, proxying

from exporters.probe import metrics
from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.targets.models import served_models
from inferwatch.config import parse_config
from inferwatch.errors import ConfigError

pytestmark = pytest.mark.tool("openssl")
LOGIN = "somebody:very-secret"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory, tool: Callable[[str], Path]) -> Authority:
    made = Authority.make(tool("openssl"), tmp_path_factory.mktemp("way"))
    for name in ("server", "client", "other"):
        made.sign(name)
    made.encrypt("client")
    return made


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[HostileServer]:
    """One that shows a certificate of a private authority and wants one of the same."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.folder / "server.pem", authority.folder / "server.key")
    context.load_verify_locations(authority.folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with HostileServer(context) as serving:
        yield serving


def files(authority: Authority, **names: str) -> dict[str, str]:
    return {key: str(authority.folder / name) for key, name in names.items()}


def probe(url: str, **more: object) -> ProbeResult:
    return run_probe(target(url, **more), "short", scenario(), "m")


def whole(authority: Authority) -> dict[str, str]:
    return files(authority, ca_file="ca.pem", cert_file="client.pem", key_file="client.key")


# Certificates


def test_a_private_authority_and_a_client_certificate(server: HostileServer, authority: Authority) -> None:
    result = probe(server.url("good", "localhost"), tls=whole(authority))
    assert (result.outcome, set(result.phases)) == ("success", set(metrics.PHASES))
    assert served_models(target(server.url("good"), tls=whole(authority)), 30)


def test_an_authority_that_is_not_named(server: HostileServer, authority: Authority) -> None:
    mine = files(authority, cert_file="client.pem", key_file="client.key")
    result = probe(server.url("good"), tls=mine)
    assert result.outcome == "tls"
    assert "the certificate is not trusted" in result.detail and "ca_file" in result.detail


def test_a_client_certificate_that_the_server_asks_for(server: HostileServer, authority: Authority) -> None:
    result = probe(server.url("good"), tls=files(authority, ca_file="ca.pem"))
    assert (result.outcome, result.status_code) == ("tls", None)
    assert "refused the TLS session" in result.detail and "cert_file: and key_file:" in result.detail


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"ca_file": "absent.pem"}, "tls.ca_file: there is no file {}/absent.pem; create it, or mount it"),
        ({"ca_file": "client.key"}, "tls.ca_file: {}/client.key holds no certificate in PEM form"),
        ({"key_file": "other.key"}, "tls.key_file: {}/other.key is not the key of {}/client.pem"),
        ({"key_file": "client.encrypted"}, "tls.key_file: {}/client.encrypted asks for a passphrase"),
    ],
)
def test_files_that_cannot_be_used(
    server: HostileServer, authority: Authority, names: dict[str, str], sentence: str
) -> None:
    result = probe(server.url("good"), tls=whole(authority) | files(authority, **names))
    assert (result.outcome, result.phases) == ("tls", {})
    assert sentence.replace("{}", str(authority.folder)) in result.detail


def test_files_are_read_again_when_they_change(server: HostileServer, authority: Authority) -> None:
    mine = authority.folder / "rotated.pem"
    # A certificate that can be read, of nobody who signed the server's.
    mine.write_bytes((authority.folder / "client.pem").read_bytes())
    tls = whole(authority) | {"ca_file": str(mine)}
    assert probe(server.url("good"), tls=tls).outcome == "tls"
    mine.write_bytes((authority.folder / "ca.pem").read_bytes())
    assert probe(server.url("good"), tls=tls).outcome == "success"


# A proxy


@pytest.fixture
def plain() -> Iterator[HostileServer]:
    with HostileServer() as serving:
        yield serving


def test_plain_http_through_a_proxy(plain: HostileServer) -> None:
    with proxying(Proxy()) as proxy:
        result = probe(plain.url("good"), proxy=proxy.url)
        assert served_models(target(plain.url("good"), proxy=proxy.url), 30)
    assert (result.outcome, result.output_tokens) == ("success", 5)
    assert proxy.seen[0].startswith(f"POST {plain.url('good')}/chat/completions HTTP/1.1")
    assert proxy.seen[1].startswith(f"GET {plain.url('good')}/models HTTP/1.1")


def test_tls_through_a_proxy(server: HostileServer, authority: Authority) -> None:
    with proxying(Proxy()) as proxy:
        result = probe(server.url("good", "localhost"), tls=whole(authority), proxy=proxy.url)
    assert result.outcome == "success"
    assert proxy.seen[0].startswith(f"CONNECT localhost:{server.port} HTTP/1.")
    # The name is resolved by the proxy; that it connects is a part of connecting, not of TLS.
    assert set(result.phases) == set(metrics.PHASES) - {"dns"}


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tunnel"])
def test_the_login_of_a_proxy(
    plain: HostileServer, server: HostileServer, authority: Authority, tmp_path: Path, tls: bool
) -> None:
    login = tmp_path / "login"
    login.write_text(f"{LOGIN}\n")
    encoded = base64.b64encode(LOGIN.encode()).decode()
    url = server.url("good") if tls else plain.url("good")
    more = {"tls": whole(authority)} if tls else {}
    with proxying(Proxy(login=f"Basic {encoded}")) as proxy:
        assert probe(url, proxy=proxy.url, proxy_auth_file=str(login), **more).outcome == "success"
        without = probe(url, proxy=proxy.url, **more)
        login.write_text("somebody:wrong-secret")
        wrong = probe(url, proxy=proxy.url, proxy_auth_file=str(login), **more)
        login.unlink()
        absent = probe(url, proxy=proxy.url, proxy_auth_file=str(login), **more)
    # The server sees the login in neither case.
    assert all("proxy-authorization" not in request.headers for request in server.requests)
    assert [one.outcome for one in (without, wrong, absent)] == ["connect"] * 3
    assert f"the proxy 127.0.0.1:{proxy.port} asks for a login; write its user:password into" in without.detail
    assert "refuses the login in proxy_auth_file: (407)" in wrong.detail
    assert f"proxy_auth_file: {login}: there is no such file" in absent.detail
    assert "secret" not in f"{without}{wrong}{absent}" and encoded not in f"{without}{wrong}{absent}"


def test_a_proxy_that_does_not_reach_the_server(server: HostileServer, authority: Authority) -> None:
    with proxying(Proxy(answer="HTTP/1.1 503 Nobody there, says <the proxy>")) as proxy:
        result = probe(server.url("good"), tls=whole(authority), proxy=proxy.url)
    assert result.outcome == "connect"
    assert result.detail.startswith(f"the proxy 127.0.0.1:{proxy.port} answered 503 instead of connecting to 127.0.0.1")
    assert "Nobody" not in result.detail


def test_no_proxy_at_its_address(plain: HostileServer, server: HostileServer, free_port: int) -> None:
    for url in (plain.url("good"), server.url("good")):
        result = probe(url, proxy=f"http://127.0.0.1:{free_port}")
        assert result.outcome == "connect"
        assert f"no connection to the proxy 127.0.0.1:{free_port}" in result.detail


def test_a_server_of_another_kind_in_place_of_the_proxy(server: HostileServer, authority: Authority) -> None:
    with proxying(Proxy(answer="SSH-2.0-OpenSSH_9.2")) as proxy:
        result = probe(server.url("good"), tls=whole(authority), proxy=proxy.url)
    assert result.outcome == "connect"
    assert "does not answer as an HTTP proxy; correct proxy:" in result.detail


def test_a_silent_proxy_is_left_at_the_deadline(server: HostileServer, plain: HostileServer) -> None:
    proxy = f"http://127.0.0.1:{plain.port}/"
    # The hostile server answers CONNECT with nothing that ends.
    result = run_probe(target(server.url("good"), proxy=proxy), "short", scenario("1s"), "m")
    assert result.outcome == "connect"


# What the file may say


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("tls: {ca_file: /a/ca.pem}, url: http://h/v1", "tls: this needs an url: that begins with https://"),
        ("tls: {}", "tls: give ca_file, or cert_file and key_file, or all of them"),
        ("tls: {cert_file: /a/b}", "tls.cert_file: this needs key_file:"),
        ("tls: {key_file: /a/b}", "tls.key_file: this needs cert_file:"),
        ("tls: {ca_file: ca.pem}", "tls.ca_file: write a path that holds a slash"),
        ("tls: sk-secret", "tls: write keys below it: ca_file, cert_file, key_file"),
        ("proxy: http://me:sk-secret@proxy:3128", "proxy: a URL must not hold a user or a password"),
        ("proxy: socks5://proxy:1080", "is not a URL; write one such as http://10.0.0.1:3128"),
        ("proxy: https://proxy:3128", "proxy: a proxy is spoken to over plain HTTP"),
        ("proxy: http://proxy:3128/x", "write only host and port"),
        ("proxy_auth_file: /run/secrets/login", "proxy_auth_file: this needs proxy:"),
        ("proxy: http://proxy:3128, proxy_auth_file: me:sk-secret", "never the key"),
    ],
)
def test_what_cannot_work_is_explained(more: str, sentence: str) -> None:
    url = "" if "url:" in more else ", url: https://h/v1"
    with pytest.raises(ConfigError) as caught:
        parse_config(f"targets: [{{name: chat{url}, {more}}}]", "inferwatch.yml", {})
    assert sentence in str(caught.value)
    assert "sk-secret" not in str(caught.value)

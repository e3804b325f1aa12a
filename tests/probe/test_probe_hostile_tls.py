"""Servers whose TLS is wrong in every way that a certificate, a handshake or the end of a session can be."""

import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from certificates import Authority
from hostile import HostileServer
from hostile_peer import BEHAVIOURS, Peer
from hostile_player import ALLOWED
from hostile_ports import answering
from probe_helpers import scenario, target

from exporters.probe.asking.run import ProbeResult, run_probe

pytestmark = pytest.mark.tool("openssl")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory, tool: Callable[[str], Path]) -> Authority:
    made = Authority.make(tool("openssl"), tmp_path_factory.mktemp("hostile"))
    made.sign("server")
    made.sign("expired", days=-1)
    made.sign("elsewhere", "DNS:elsewhere.example")
    made.sign("address", "IP:127.0.0.2")
    made.sign("wildcard", "DNS:*.localhost")
    made.sign("client")
    made.sign("late", days=-1)
    return made


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory, tool: Callable[[str], Path]) -> Authority:
    """Another authority, which nobody trusts."""
    made = Authority.make(tool("openssl"), tmp_path_factory.mktemp("stranger"))
    made.sign("client")
    return made


def context(authority: Authority, name: str = "server") -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(authority.folder / f"{name}.pem", authority.folder / f"{name}.key")
    return made


def probe(url: str, authority: Authority, **names: Path) -> ProbeResult:
    tls = {"ca_file": str(authority.folder / "ca.pem"), **{key: str(path) for key, path in names.items()}}
    return run_probe(target(url, tls=tls), "short", scenario("20s", finish_reasons=ALLOWED), "m")


@pytest.mark.parametrize(
    ("name", "host", "sentence"),
    [
        ("expired", "localhost", "the certificate is not trusted (certificate has expired)"),
        ("elsewhere", "localhost", "the certificate is not trusted (hostname mismatch"),
        ("address", "127.0.0.1", "the certificate is not trusted (ip address mismatch"),
        # A name is no address, though both are of this machine.
        ("wildcard", "localhost", "the certificate is not trusted (hostname mismatch"),
    ],
)
def test_a_certificate_that_is_wrong(authority: Authority, name: str, host: str, sentence: str) -> None:
    with HostileServer(context(authority, name)) as server:
        result = probe(server.url("good", host), authority)
    assert (result.outcome, result.status_code) == ("tls", None)
    assert sentence in result.detail.lower()
    # Nothing was asked of a server that is not the one that it should be.
    assert server.requests == []
    assert "tls" not in result.phases and "tcp" in result.phases


def test_a_certificate_of_an_authority_that_nobody_trusts(authority: Authority, stranger: Authority) -> None:
    with HostileServer(context(authority)) as server:
        result = probe(server.url("good"), stranger)
    assert result.outcome == "tls" and server.requests == []
    assert "the certificate is not trusted" in result.detail


@pytest.mark.parametrize("whose", ["nobody", "stranger", "late", "client"])
def test_a_server_that_wants_a_certificate(authority: Authority, stranger: Authority, whose: str) -> None:
    wanting = context(authority)
    wanting.load_verify_locations(authority.folder / "ca.pem")
    wanting.verify_mode = ssl.CERT_REQUIRED
    folder = stranger.folder if whose == "stranger" else authority.folder
    name = "client" if whose == "stranger" else whose
    mine = {} if whose == "nobody" else {"cert_file": folder / f"{name}.pem", "key_file": folder / f"{name}.key"}
    with HostileServer(wanting) as server:
        result = probe(server.url("good"), authority, **mine)
    assert result.outcome == ("success" if whose == "client" else "tls"), result.detail
    assert len(server.requests) == (1 if whose == "client" else 0)


def test_a_server_of_the_last_century(authority: Authority) -> None:
    old = context(authority)
    with pytest.warns(DeprecationWarning):
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with HostileServer(old) as server:
        result = probe(server.url("good"), authority)
    assert result.outcome == "tls" and "no TLS session with" in result.detail


@pytest.mark.parametrize(
    ("first", "reset"),
    [
        (b"", False),
        (b"", True),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", False),
        (b"SSH-2.0-OpenSSH_9.2\r\n", False),
        (b"\x16\x03\x03\x00\x7a\x02\x00", False),
        (b"\x15\x03\x03\x00\x02\x02\x28", False),
        (bytes(5000), False),
    ],
    ids=["nothing", "a reset", "plain HTTP", "SSH", "half a hello", "an alert", "zeros"],
)
def test_a_handshake_that_is_answered_with(first: bytes, reset: bool, authority: Authority) -> None:
    with answering(first, reset=reset) as (port, _):
        result = probe(f"https://127.0.0.1:{port}/v1", authority)
    assert (result.outcome, result.status_code) == ("tls", None), result.detail
    assert f"no TLS session with 127.0.0.1:{port}" in result.detail


def test_plain_http_asked_of_a_server_with_tls(authority: Authority) -> None:
    with HostileServer(context(authority)) as server:
        url = server.url("good").replace("https:", "http:")
        result = run_probe(target(url), "short", scenario(), "m")
    assert result.outcome in ("connection_lost", "not_stream")


# The end of a session


def streaming(authority: Authority, end: Callable[[Peer], None], *, whole: bool) -> ProbeResult:
    def play(peer: Peer) -> None:
        peer.chunked = False
        peer.head()
        for word in ("one", " two", " three"):
            peer.send(f'data: {{"choices": [{{"delta": {{"content": "{word}"}}}}]}}\n\n'.encode())
        if whole:
            peer.send(b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n')
        end(peer)

    with HostileServer(context(authority)) as server, mock.patch.dict(BEHAVIOURS, {"scripted": play}):
        return probe(f"{server.base('scripted')}/v1", authority)


def close_quietly(peer: Peer) -> None:
    """Close the connection under the session, which was not ended: so an attacker cuts an answer short."""
    socket.socket(fileno=peer.sock.detach()).close()


def end_properly(peer: Peer) -> None:
    assert isinstance(peer.sock, ssl.SSLSocket)
    peer.sock.unwrap().close()


@pytest.mark.parametrize("end", [close_quietly, end_properly], ids=["closed", "ended"])
def test_a_session_that_ends_behind_the_answer(authority: Authority, end: Callable[[Peer], None]) -> None:
    result = streaming(authority, end, whole=True)
    assert (result.outcome, result.output_tokens) == ("success", 3), result.detail


@pytest.mark.parametrize("end", [close_quietly, end_properly], ids=["closed", "ended"])
def test_a_session_that_ends_inside_the_answer(authority: Authority, end: Callable[[Peer], None]) -> None:
    result = streaming(authority, end, whole=False)
    assert (result.outcome, result.output_tokens) == ("truncated", 3), result.detail


def test_a_session_that_is_reset_inside_the_answer(authority: Authority) -> None:
    result = streaming(authority, Peer.reset, whole=False)
    assert (result.outcome, result.output_tokens) == ("connection_lost", 3), result.detail


def test_garbage_inside_the_session(authority: Authority) -> None:
    def scribble(peer: Peer) -> None:
        with socket.socket(fileno=peer.sock.detach()) as bare:
            bare.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))

    result = streaming(authority, scribble, whole=False)
    assert (result.outcome, result.output_tokens) == ("connection_lost", 3), result.detail

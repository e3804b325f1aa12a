"""What happens before the request is sent: names, ports, certificates, keys."""

import errno
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import HostileServer
from probe_helpers import scenario, target

from exporters.probe import metrics
from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.targets.models import served_models
from exporters.probe.wire import deadline as deadlines
from exporters.probe.wire.connection import Recorder
from exporters.probe.wire.deadline import Deadline, expire_all
from inferwatch.errors import InferwatchError


def probe(url: str, timeout: str = "30s", **more: object) -> ProbeResult:
    return run_probe(target(url, **more), "short", scenario(timeout), "m")


def test_nothing_listens(free_port: int) -> None:
    result = probe(f"http://127.0.0.1:{free_port}/v1")
    assert (result.outcome, result.status_code, result.phases) == ("connect", None, {})
    assert f"127.0.0.1:{free_port}: connection refused" in result.detail


def test_a_name_that_does_not_resolve() -> None:
    result = probe("http://no-such-host.invalid/v1", "10s")
    assert result.outcome == "dns"
    assert "the name no-such-host.invalid was not resolved" in result.detail


def test_a_resolver_that_hangs_is_left_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        release.wait(60)
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    try:
        result = probe("http://slow.example/v1", "1s")
    finally:
        release.set()
    assert result.outcome == "dns"
    assert "within 1 s" in result.detail


class WithoutIpv6(socket.socket):
    """A socket of a kernel that has no IPv6."""

    def __init__(self, family: int = -1, *arguments: Any, **more: Any) -> None:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        super().__init__(family, *arguments, **more)


@pytest.mark.parametrize("first", ["IPv4", "IPv6"])
@pytest.mark.parametrize("listens", [True, False])
def test_an_address_of_a_family_that_the_kernel_lacks_is_passed_over(
    hostile: HostileServer, free_port: int, monkeypatch: pytest.MonkeyPatch, first: str, listens: bool
) -> None:
    port = hostile.port if listens else free_port
    addresses: list[tuple[Any, ...]] = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0)),
    ]
    monkeypatch.setattr(Recorder, "_resolve", lambda *_: addresses if first == "IPv4" else addresses[::-1])
    monkeypatch.setattr(socket, "socket", WithoutIpv6)
    result = probe(f"http://two.example:{port}/good/v1")
    if listens:
        assert result.outcome == "success", result.detail
    else:
        # What the address says that can be tried, and not what the kernel says of the other.
        assert (result.outcome, "connection refused" in result.detail) == ("connect", True), result.detail


def test_a_machine_that_lacks_every_family_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    address = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 9, 0, 0))
    monkeypatch.setattr(Recorder, "_resolve", lambda *_: [address, address])
    monkeypatch.setattr(socket, "socket", WithoutIpv6)
    result = probe("http://two.example:9/v1")
    assert result.outcome == "connect" and "address family not supported" in result.detail


def test_a_full_accept_queue_is_left_at_the_deadline() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = []
        for _ in range(4):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(address)
        try:
            result = probe(f"http://127.0.0.1:{address[1]}/v1", "1s")
        finally:
            for sock in waiting:
                sock.close()
    assert (result.outcome, result.status_code) == ("connect", None)
    assert "within 1 s" in result.detail


def test_a_resolved_name_has_a_dns_phase(hostile: HostileServer) -> None:
    result = probe(hostile.url("good", host="localhost"))
    assert result.outcome == "success"
    assert set(result.phases) == set(metrics.PHASES) - {"tls"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory, tool: Callable[[str], Path]) -> Path:
    """A certificate for `localhost` alone, signed by itself, with its key behind it."""
    folder = tmp_path_factory.mktemp("tls")
    command = [str(tool("openssl")), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "certificate.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "certificate.pem"


@pytest.fixture(scope="module")
def tls_server(certificate: Path) -> Iterator[HostileServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    with HostileServer(context) as server:
        yield server


@pytest.mark.tool("openssl")
def test_a_certificate_that_is_not_trusted(tls_server: HostileServer) -> None:
    result = probe(tls_server.url("good", host="localhost"))
    assert (result.outcome, result.status_code) == ("tls", None)
    assert "the certificate is not trusted (self-signed certificate)" in result.detail
    assert {"dns", "tcp"} == set(result.phases)


@pytest.mark.tool("openssl")
def test_a_private_authority_and_the_name_it_vouches_for(
    tls_server: HostileServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    trusted = probe(tls_server.url("good", host="localhost"))
    assert (trusted.outcome, trusted.output_tokens) == ("success", 5)
    assert set(trusted.phases) == set(metrics.PHASES)
    other_name = probe(tls_server.url("good", host="127.0.0.1"))
    assert other_name.outcome == "tls"
    assert "the certificate is not trusted" in other_name.detail


@pytest.mark.tool("openssl")
def test_the_deadline_interrupts_a_stream_over_tls(
    tls_server: HostileServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    assert probe(tls_server.url("pings_only", host="localhost"), "2s").outcome == "ttft_timeout"


def test_a_handshake_that_is_never_answered(hostile: HostileServer) -> None:
    result = probe(hostile.url("silent").replace("http:", "https:"), "1s")
    assert result.outcome == "tls"
    assert "within 1 s" in result.detail


def test_the_key_travels_in_the_header_and_nowhere_else(hostile: HostileServer, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-very-secret\n")
    result = probe(hostile.url("unauthorized"), auth={"bearer_file": str(key)})
    assert hostile.requests[-1].headers["authorization"] == "Bearer sk-very-secret"
    assert result.outcome == "auth"
    assert "sk-very-secret" not in repr(result)


def test_an_unreadable_key_sends_no_request(hostile: HostileServer, tmp_path: Path) -> None:
    before = len(hostile.requests)
    result = probe(hostile.url("good"), auth={"bearer_file": str(tmp_path / "absent")})
    assert (result.outcome, result.phases) == ("auth", {})
    assert str(tmp_path / "absent") in result.detail and "there is no such file" in result.detail
    assert len(hostile.requests) == before


def test_keys_of_netrc_and_proxies_of_the_environment_are_not_used(
    hostile: HostileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert probe(hostile.url("good")).outcome == "success"
    assert "authorization" not in hostile.requests[-1].headers


def test_the_models_that_a_server_lists(hostile: HostileServer) -> None:
    hostile.models["good"] = ["first", "second"]
    assert served_models(target(hostile.url("good")), 30) == ["first", "second"]


@pytest.mark.parametrize(
    ("name", "outcome", "sentence"),
    [
        ("unauthorized", "auth", "listing the models: the server answered 401"),
        ("broken", "http_5xx", "listing the models: the server failed with 500"),
        ("html", "not_stream", "is no list of models"),
        ("silent", "ttft_timeout", "answered nothing within 1 s"),
        ("no_usage", "not_found", "lists no model; write model: for target chat"),
    ],
)
def test_models_that_cannot_be_listed(hostile: HostileServer, name: str, outcome: str, sentence: str) -> None:
    hostile.models["no_usage"] = []
    with pytest.raises(InferwatchError, match=sentence) as caught:
        served_models(target(hostile.url(name)), 1 if name == "silent" else 30)
    assert caught.value.outcome == outcome


def test_expire_all_ends_what_runs(hostile: HostileServer) -> None:
    results: list[ProbeResult] = []
    thread = threading.Thread(target=lambda: results.append(probe(hostile.url("silent"), "60s")))
    thread.start()
    began = time.monotonic()
    while thread.is_alive() and time.monotonic() - began < 30:
        expire_all()
        thread.join(0.05)
    assert results and results[0].outcome in ("ttft_timeout", "connect")
    assert time.monotonic() - began < 30


def test_a_deadline_leaves_no_descriptor_open(hostile: HostileServer) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def sockets_of_probes() -> int:
        probe(hostile.url("truncated"))
        return descriptors()

    first = sockets_of_probes()
    # The server's side closes in its own time, so one or two may still be open on either count.
    assert max(sockets_of_probes() for _ in range(5)) <= first + 3


def test_tightening_never_extends() -> None:
    with Deadline(30) as deadline:
        deadline.tighten(60)
        assert 0 < deadline.remaining() <= 30
        deadline.tighten(0.01)
        assert deadline.remaining() <= 0.01


def interrupted(deadline: Deadline) -> threading.Event:
    event = threading.Event()
    deadline.guard(event.set)
    return event


def test_a_deadline_that_gets_no_thread_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    before = set(deadlines._running)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError), Deadline(60):
            raise AssertionError("it was entered")
    assert set(deadlines._running) == before


def test_a_limit_is_reached_before_the_deadline_and_says_so() -> None:
    with Deadline(60) as deadline:
        event = interrupted(deadline)
        deadline.limit(0.05)
        assert event.wait(30)
        assert (deadline.passed, deadline.passed_limit, deadline.passed_after) == (True, 0.05, 0.05)


def test_a_limit_that_moves_on_or_ends_does_not_interrupt() -> None:
    with Deadline(60) as deadline:
        event = interrupted(deadline)
        deadline.limit(0.2)
        deadline.limit(30)
        assert not event.wait(0.4)
        deadline.limit(0.2)
        deadline.limit(None)
        assert not event.wait(0.4)
        assert deadline.passed_after is None


def test_a_limit_beyond_the_deadline_changes_nothing() -> None:
    with Deadline(0.05) as deadline:
        deadline.limit(30)
        assert interrupted(deadline).wait(30)
        assert (deadline.passed_limit, deadline.passed_after) == (None, 0.05)


def test_an_ipv6_address_is_connected_to_and_not_resolved(free_port: int) -> None:
    result = probe(f"http://[::1]:{free_port}/v1")
    assert result.outcome == "connect" and "dns" not in result.phases


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_authorities_that_cannot_be_read(
    hostile: HostileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    bundle = tmp_path / "bundle.pem"
    if content is not None:
        bundle.write_text(content)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    result = probe("https://127.0.0.1:1/v1")
    assert result.outcome == "tls"
    assert f"{bundle} holds no certificates" in result.detail and "REQUESTS_CA_BUNDLE" in result.detail
    assert probe(hostile.url("good")).outcome == "success"

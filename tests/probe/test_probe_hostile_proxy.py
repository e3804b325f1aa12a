"""Proxies that do anything but pass on: what they say is theirs and not the server's, and no login is ever shown."""

import base64
from pathlib import Path

import pytest
from hostile_peer import FINISH, contents
from hostile_ports import answering
from probe_helpers import scenario, target

from exporters.probe.asking.run import ProbeResult, run_probe

LOGIN = "somebody:very-secret"
ENCODED = base64.b64encode(LOGIN.encode()).decode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
TUNNEL = b"HTTP/1.1 200 Connection established\r\n\r\n"
# Nothing is listening there, and nothing is sent there.
PLAIN, SECURE = "http://server.example/v1", "https://server.example/v1"


@pytest.fixture
def login(tmp_path: Path) -> Path:
    file = tmp_path / "login"
    file.write_text(f"{LOGIN}\n")
    return file


def probe(url: str, port: int, login: Path, timeout: str = "20s") -> ProbeResult:
    through = target(url, proxy=f"http://127.0.0.1:{port}", proxy_auth_file=str(login))
    result = run_probe(through, "short", scenario(timeout), "m")
    assert "secret" not in repr(result) and ENCODED not in repr(result)
    return result


# What the proxy says to CONNECT, and what of it a person is told.
TUNNELS = {
    "nothing": (b"", "connection_lost|connect", ""),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", "connect", "does not answer as an HTTP proxy"),
    "half a status": (b"HTTP/1.1 2", "connect", "does not answer as an HTTP proxy"),
    "407, with the login in it": (
        f"HTTP/1.1 407 {LOGIN}\r\nX-Login: {ENCODED}\r\nContent-Length: 40\r\n\r\n{ENCODED}".encode(),
        "connect",
        "refuses the login in proxy_auth_file: (407)",
    ),
    "403, with the login in it": (f"HTTP/1.1 403 {LOGIN}\r\n\r\n".encode(), "connect", "answered 403 instead of"),
    "502": (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "connect", "answered 502 instead of connecting to server.example"),
    "504": (b"HTTP/1.1 504 Gateway Timeout\r\n\r\n", "connect", "answered 504 instead of connecting to server.example"),
    "a page to log in at": (b"HTTP/1.1 302 Found\r\nLocation: http://login.example\r\n\r\n", "connect", "answered 302"),
    "a tunnel to nowhere": (TUNNEL, "tls", "no TLS session with server.example"),
    "a tunnel to plain HTTP": (TUNNEL + b"HTTP/1.1 400 Bad Request\r\n\r\n", "tls", "no TLS session with"),
}


@pytest.mark.parametrize("name", TUNNELS)
def test_a_proxy_that_answers_connect_with(name: str, login: Path) -> None:
    answer, outcomes, sentence = TUNNELS[name]
    with answering(*((answer, b"") if answer.startswith(TUNNEL) else (answer,))) as (port, said):
        result = probe(SECURE, port, login)
    assert result.outcome in outcomes.split("|"), result.detail
    assert sentence in result.detail
    assert result.status_code in (None, 302, 403, 407, 502, 504)
    # The login is for the proxy, in the first thing that it is told.
    assert said[0].startswith(b"CONNECT server.example:443 HTTP/1.")
    assert ENCODED.encode() in said[0]


def test_a_proxy_that_never_answers_connect(login: Path) -> None:
    with answering(b"", hold=True) as (port, _):
        result = probe(SECURE, port, login, "3s")
    assert result.outcome == "connect"
    assert result.detail.startswith(f"the proxy 127.0.0.1:{port} did not connect to server.example within 3 s")


def test_a_proxy_that_drips_its_answer_to_connect(login: Path) -> None:
    with answering(b"HTTP/1.1 200 Connection est", hold=True) as (port, _):
        result = probe(SECURE, port, login, "3s")
    assert result.outcome == "connect"
    assert result.detail.startswith(f"the proxy 127.0.0.1:{port} did not connect to server.example within 3 s")


def test_a_tunnel_that_is_silent(login: Path) -> None:
    with answering(TUNNEL, hold=True) as (port, _):
        result = probe(SECURE, port, login, "3s")
    assert result.outcome == "tls" and "within 3 s" in result.detail


# What the proxy says to a request of plain HTTP, as if it came from the server.
ANSWERS = {
    "a whole stream": (HEAD + b"".join(contents()) + FINISH, "success"),
    "a stream that it cut": (HEAD + b"".join(contents()), "truncated"),
    "nothing": (b"", "connection_lost"),
    "a page": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>please log in</html>", "not_stream"),
    "a page elsewhere": (b"HTTP/1.1 302 Found\r\nLocation: http://login.example\r\n\r\n", "not_stream"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not_stream"),
    "502": (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", "http_5xx"),
    "407, with the login in it": (
        f'HTTP/1.1 407 {LOGIN}\r\nContent-Type: application/json\r\n\r\n{{"error": "{ENCODED}"}}'.encode(),
        "connect",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_proxy_that_answers_plain_http_with(name: str, login: Path) -> None:
    answer, outcome = ANSWERS[name]
    with answering(answer) as (port, said):
        result = probe(PLAIN, port, login)
    assert result.outcome == outcome, result.detail
    assert said[0].startswith(b"POST http://server.example/v1/chat/completions HTTP/1.1\r\n")


def test_a_name_is_resolved_by_the_proxy_alone(login: Path) -> None:
    with answering(*[HEAD + b"".join(contents()) + FINISH]) as (port, _):
        result = probe("http://no-such-host.invalid/v1", port, login)
    assert result.outcome == "success" and "dns" not in result.phases

"""A kept connection: used again, made anew when the server closed it, and told apart when both cross on the way."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from certificates import Authority
from hostile_peer import END, FINISH, USAGE, chunk, data, usage_chunk
from probe_helpers import scenario, target, until
from proxies import Proxy, proxying

from exporters.probe import metrics
from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.scheduling.prober import Prober
from exporters.probe.scheduling.spending import used
from exporters.probe.wire.session import KeptConnection
from inferwatch.config import Config, parse_config

EVENTS = [data(chunk({"content": "one"})), data(chunk({"content": " two"})), FINISH, data(usage_chunk(USAGE)), END]
ANSWER = b"".join(EVENTS)
CHUNKS = b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in [*EVENTS, b""])
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n"


class KeepingServer:
    """Answers many requests on one connection.

    Attributes:
        per_connection: After so many requests it closes the connection ...
        unanswered: ... when the next request has come, instead of at once.
        chunked: It sends each event as a chunk of its own.
        silent: It reads requests and answers nothing.
        connections: How many were made.
        requests: How many were read.
        open_now: The connections that are open.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.per_connection = 1000
        self.unanswered = self.silent = self.chunked = False
        self.connections = self.requests = self.open_now = 0
        self._tls = tls
        self._stopping = threading.Event()

    def __enter__(self) -> "KeepingServer":
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.1)
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._listener.close()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://localhost:{self.port}/v1"

    def _accept(self) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                sock, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        self.open_now += 1
        with contextlib.suppress(OSError), sock:
            sock.settimeout(30)
            peer = self._tls.wrap_socket(sock, server_side=True) if self._tls else sock
            with peer:
                for _ in range(self.per_connection):
                    if not self._read(peer):
                        break
                    if self.silent:
                        self._stopping.wait(30)
                        break
                    peer.sendall(CHUNKED if self.chunked else HEAD % len(ANSWER) + ANSWER)
                else:
                    if self.unanswered:
                        self._read(peer)
        self.open_now -= 1

    def _read(self, peer: socket.socket) -> bool:
        received = b""
        while b"\r\n\r\n" not in received or not received.endswith(b"}"):
            piece = peer.recv(65536)
            if not piece:
                return False
            received += piece
        self.requests += 1
        return True


@pytest.fixture
def server() -> Iterator[KeepingServer]:
    with KeepingServer() as keeping:
        yield keeping


def probe(server: KeepingServer, kept: KeptConnection | None, **more: object) -> ProbeResult:
    return run_probe(target(server.url, **more), "short", scenario(), "m", kept=kept)


MAKING = {"dns", "tcp", "tls"}


@pytest.mark.parametrize("chunked", [False, True])
def test_the_second_probe_uses_the_connection_of_the_first(server: KeepingServer, chunked: bool) -> None:
    server.chunked = chunked
    kept = KeptConnection()
    first, second, third = (probe(server, kept) for _ in range(3))
    assert [one.outcome for one in (first, second, third)] == ["success"] * 3
    assert set(first.phases) & MAKING == {"dns", "tcp"}
    assert set(second.phases) == set(metrics.PHASES) - MAKING
    assert (server.connections, server.requests) == (1, 3)
    assert second.ttft_seconds and second.e2e_seconds
    kept.close()


def test_a_new_connection_for_each_without_it(server: KeepingServer) -> None:
    assert all(set(probe(server, None).phases) & MAKING == {"dns", "tcp"} for _ in range(2))
    assert server.connections == 2


def test_a_connection_that_was_closed_meanwhile_is_made_anew(server: KeepingServer) -> None:
    server.per_connection = 1
    kept = KeptConnection()
    for number in (1, 2, 3):
        result = probe(server, kept)
        assert (result.outcome, set(result.phases) & MAKING) == ("success", {"dns", "tcp"})
        assert server.connections == number
        until(lambda: server.open_now == 0, "the server has closed it")


def test_a_request_that_crosses_the_end_of_the_connection_is_no_failure(server: KeepingServer) -> None:
    server.per_connection, server.unanswered = 1, True
    kept = KeptConnection()
    assert probe(server, kept).outcome == "success"
    crossed = probe(server, kept)
    assert (crossed.outcome, crossed.stale_connection, crossed.status_code) == ("tainted", True, None)
    assert "had closed the kept connection; the next probe makes a new one" in crossed.detail
    # Nobody answered, so nobody charges for it.
    assert used(crossed, 100, 100) == (0, 0)
    assert set(probe(server, kept).phases) & MAKING == {"dns", "tcp"}


def test_a_server_that_hangs_up_on_a_new_connection_fails(server: KeepingServer) -> None:
    server.per_connection, server.unanswered = 0, True
    result = probe(server, KeptConnection())
    assert (result.outcome, result.stale_connection) == ("connection_lost", False)


def test_a_deadline_interrupts_a_kept_connection_too(server: KeepingServer) -> None:
    kept = KeptConnection()
    assert probe(server, kept).outcome == "success"
    server.silent = True
    result = run_probe(target(server.url), "short", scenario("1s"), "m", kept=kept)
    assert (result.outcome, result.stale_connection, server.connections) == ("ttft_timeout", False, 1)
    assert "within 1 s" in result.detail


# TLS, and a proxy


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory, tool: Callable[[str], Path]) -> Authority:
    made = Authority.make(tool("openssl"), tmp_path_factory.mktemp("reuse"))
    made.sign("server")
    return made


@pytest.mark.tool("openssl")
@pytest.mark.parametrize("through", [False, True], ids=["direct", "proxy"])
def test_over_tls(authority: Authority, through: bool) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.folder / "server.pem", authority.folder / "server.key")
    kept = KeptConnection()
    with KeepingServer(context) as server, proxying(Proxy()) as proxy:
        more = {"proxy": proxy.url} if through else {}
        tls = {"ca_file": str(authority.folder / "ca.pem")}
        results = [probe(server, kept, tls=tls, **more) for _ in range(3)]
        assert [one.outcome for one in results] == ["success"] * 3
        assert [bool(set(one.phases) & MAKING) for one in results] == [True, False, False]
        assert server.connections == 1
        assert len(proxy.seen) == through
        # A renewed file makes a new one.
        (authority.folder / "ca.pem").touch()
        assert set(probe(server, kept, tls=tls, **more).phases) & {"tls"}
        kept.close()


# In the schedule


def configured(server: KeepingServer, connection: str, name: str = "chat") -> Config:
    text = f"targets: [{{name: {name}, url: '{server.url}', model: m}}]\ndefaults: {{connection: {connection}}}"
    return parse_config(text, "f.yml", {})


def test_the_schedule_keeps_one_connection_for_each_scenario(server: KeepingServer) -> None:
    prober, key = Prober(), ("chat", "short")
    prober.apply(configured(server, "reuse"))
    prober.run(key)
    # The same file again changes nothing; a probe on request makes a connection of its own.
    config = configured(server, "reuse")
    prober.apply(config)
    prober.run(key)
    assert server.connections == 1
    prober.once(config.targets[0], "short", config.scenarios_of(config.targets[0])["short"])
    assert server.connections == 2
    prober.apply(Config())
    until(lambda: server.open_now == 0, "what is probed no more is closed")


def test_a_request_that_crossed_is_followed_by_a_probe_at_once(server: KeepingServer) -> None:
    server.per_connection, server.unanswered = 1, True
    prober, key = Prober(), ("chat", "short")
    prober.apply(configured(server, "reuse"))
    prober.run(key)
    prober.run(key)
    series = prober.records()[key].snapshot()[1]
    assert (series.started, series.outcomes["success"], series.outcomes["tainted"]) == (3, 2, 1)


def test_the_nearest_choice_wins() -> None:
    text = "targets: [{name: a, url: 'http://h', connection: reuse, scenarios: [short, mine]}]\n"
    text += "scenarios: {mine: {prompt: x, max_tokens: 1, connection: new}}"
    config = parse_config(text, "f.yml", {})
    chosen = {name: one.connection for name, one in config.scenarios_of(config.targets[0]).items()}
    assert chosen == {"short": "reuse", "mine": "new"}


def test_connections_that_are_made_anew_leave_no_descriptor_open(server: KeepingServer) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    kept = KeptConnection()
    counts = []
    for number in range(40):
        server.per_connection = 1 if number % 2 else 3
        assert probe(server, kept).outcome in ("success", "tainted")
        until(lambda: server.open_now <= 1, "the server has closed what it closes")
        counts.append(descriptors())
    # The server's side closes in its own time.
    assert max(counts[-10:]) <= max(counts[:10]) + 3

"""The server as clients see it: real sockets on free ports of the loopback interface."""

import gzip
import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from inferwatch.errors import InferwatchError
from inferwatch.exposition import HTML, JSON, LARGEST_BODY, ExpositionServer, Request, Response, Route
from inferwatch.http_server import split_address

DEADLINE = 20


@contextmanager
def serving(routes=(), listen="127.0.0.1:0", registry=None, health=lambda: None) -> Iterator[ExpositionServer]:
    server = ExpositionServer("test-exporter", listen, registry, routes, health)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def ask(server, path, method="GET", headers=None, body=None):
    """Return the answer with its body read as `.data`."""
    host, port = split_address(server.address)
    with closing(http.client.HTTPConnection(host or "127.0.0.1", port, timeout=DEADLINE)) as connection:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        answer.data = answer.read()
        return answer


def send_raw(server, request: bytes) -> bytes:
    with socket.create_connection(split_address(server.address), timeout=DEADLINE) as client:
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.fixture
def registry():
    registry = CollectorRegistry()
    Gauge("gpu_up", "Whether it is up.", registry=registry).set(1)
    Counter("probes", "How many.", registry=registry).inc()
    Histogram("ttft_seconds", "How long.", registry=registry).observe(0.2)
    return registry


# /metrics


def test_metrics_as_text(registry):
    with serving(registry=registry) as server:
        answer = ask(server, "/metrics")
    assert answer.status == 200
    assert answer.getheader("Content-Type").startswith("text/plain; version=")
    assert b"\ngpu_up 1.0\n" in answer.data
    assert int(answer.getheader("Content-Length")) == len(answer.data)


def test_metrics_as_openmetrics(registry):
    with serving(registry=registry) as server:
        answer = ask(server, "/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.getheader("Content-Type").startswith("application/openmetrics-text; version=1.0.0")
    assert answer.data.endswith(b"# EOF\n")


def test_no_created_series(registry):
    with serving(registry=registry) as server:
        text = (
            ask(server, "/metrics").data
            + ask(server, "/metrics", headers={"Accept": "application/openmetrics-text"}).data
        )
    assert b"probes_total 1.0" in text
    assert b"_created" not in text


def test_metrics_are_compressed_on_request(registry):
    with serving(registry=registry) as server:
        answer = ask(server, "/metrics", headers={"Accept-Encoding": "gzip"})
        plain = ask(server, "/metrics")
    assert answer.getheader("Content-Encoding") == "gzip"
    assert gzip.decompress(answer.data) == plain.data


def test_metrics_filtered_by_name(registry):
    with serving(registry=registry) as server:
        text = ask(server, "/metrics?name[]=gpu_up").data
    assert b"gpu_up 1.0" in text
    assert b"probes" not in text


def test_a_failing_collector_is_an_error_and_logged(caplog):
    class Broken:
        def collect(self):
            raise RuntimeError("the sensor is gone")
            yield

        def describe(self):
            return []

    registry = CollectorRegistry()
    registry.register(Broken())
    with serving(registry=registry) as server:
        answer = ask(server, "/metrics")
    assert answer.status == 500
    assert b"sensor" not in answer.data
    assert "GET /metrics failed" in caplog.text
    assert "the sensor is gone" in caplog.text


# Health and landing page


def test_healthz_says_what_is_wrong():
    trouble = [None]
    with serving(health=lambda: trouble[0]) as server:
        assert (ask(server, "/healthz").status, ask(server, "/healthz").data) == (200, b"ok\n")
        trouble[0] = "no configuration was ever good"
        answer = ask(server, "/healthz")
    assert (answer.status, answer.data) == (503, b"no configuration was ever good\n")


def test_landing_page_links_titled_routes_and_escapes_them(registry):
    def nothing(_: Request) -> Response:
        return Response("")

    routes = [
        Route("/sd/engines", nothing, title="Engines <for> Prometheus"),
        Route("/-/reload", nothing, method="POST", title="Read the configuration again"),
        Route("/hidden", nothing),
    ]
    with serving(routes, registry=registry) as server:
        answer = ask(server, "/")
    page = answer.data.decode()
    assert answer.getheader("Content-Type") == HTML
    assert '<a href="/metrics">' in page
    assert '<a href="/healthz">' in page
    assert "Engines &lt;for&gt; Prometheus" in page
    assert "/-/reload" not in page  # a link cannot send a POST
    assert "/hidden" not in page


def test_without_a_registry_metrics_are_nothing_and_unlisted():
    with serving() as server:
        assert ask(server, "/metrics").status == 404
        assert b"/metrics" not in ask(server, "/").data


def test_a_route_may_replace_the_landing_page():
    with serving([Route("/", lambda _: Response("mine"))]) as server:
        assert ask(server, "/").data == b"mine"


def test_routes_may_come_from_a_generator():
    with serving(Route(path, lambda _: Response("here")) for path in ("/a", "/b")) as server:
        assert ask(server, "/a").data == ask(server, "/b").data == b"here"


# Routes


def test_a_route_gets_query_body_type_and_headers():
    seen = []

    def record(request: Request) -> Response:
        seen.append(request)
        return Response('{"ok": true}', JSON, HTTPStatus.ACCEPTED, headers=(("X-Extra", "1"),))

    with serving([Route("/notifications", record, method="POST")]) as server:
        answer = ask(server, "/notifications?a=1&a=2", "POST", {"Content-Type": JSON, "X-Some-Header": "1.5"}, "{}")
    (request,) = seen
    assert (request.query, request.body, request.content_type) == ({"a": ["1", "2"]}, b"{}", JSON)
    assert request.headers["x-some-header"] == "1.5"
    assert (answer.status, answer.getheader("X-Extra"), answer.getheader("Content-Type")) == (202, "1", JSON)


def test_a_route_that_raises_is_an_error_and_logged(caplog):
    def broken(_: Request) -> Response:
        raise ValueError("secret details")

    with serving([Route("/broken", broken)]) as server:
        answer = ask(server, "/broken")
        assert ask(server, "/healthz").status == 200
    assert answer.status == 500
    assert answer.data == b"this page failed; the log says why\n"
    assert "GET /broken failed" in caplog.text


def test_unknown_path():
    with serving() as server:
        answer = ask(server, "/nowhere")
    assert (answer.status, answer.data) == (404, b"nothing is at /nowhere; see /\n")


@pytest.mark.parametrize(
    ("path", "method", "allowed"),
    [("/healthz", "POST", "GET, HEAD"), ("/metrics", "DELETE", "GET, HEAD"), ("/-/reload", "GET", "POST")],
)
def test_wrong_method_names_the_right_ones(registry, path, method, allowed):
    with serving([Route("/-/reload", lambda _: Response(""), method="POST")], registry=registry) as server:
        answer = ask(server, path, method)
    assert answer.status == 405
    assert answer.getheader("Allow") == allowed
    assert allowed in answer.data.decode()


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/", "/nowhere"])
def test_head_is_get_without_the_body(registry, path):
    with serving(registry=registry) as server:
        get, head = ask(server, path), ask(server, path, "HEAD")
    assert head.status == get.status
    assert head.getheader("Content-Length") == get.getheader("Content-Length")
    assert head.data == b""


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (f"Content-Length: {LARGEST_BODY + 1}", 413),
        ("Content-Length: " + "9" * 5000, 413),
        ("Content-Length: many", 400),
        ("Content-Length: -1", 400),
        ("Transfer-Encoding: chunked", 411),
    ],
)
def test_bodies_that_are_refused(headers, status):
    with serving([Route("/in", lambda _: Response("in"), method="POST")]) as server:
        answer = send_raw(server, f"POST /in HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n".encode())
    assert answer.split(b" ", 2)[1] == str(status).encode()


def test_a_body_cut_short_is_refused():
    with serving([Route("/in", lambda _: Response("in"), method="POST")]) as server:
        answer = send_raw(server, b"POST /in HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf")
    assert answer.split(b" ", 2)[1] == b"400"


@pytest.mark.parametrize("request_line", [b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"\r\n\r\n", b"GET /" + b"x" * 70000])
def test_garbage_does_not_end_the_server(request_line, capfd):
    with serving() as server:
        with socket.create_connection(split_address(server.address), timeout=DEADLINE) as client:
            client.sendall(request_line)
            client.shutdown(socket.SHUT_WR)
        assert ask(server, "/healthz").status == 200
    assert "Traceback" not in capfd.readouterr().err


# Clients, ports and the end


def test_a_silent_client_does_not_hold_up_others():
    with serving() as server, socket.create_connection(split_address(server.address), timeout=DEADLINE):
        assert ask(server, "/healthz").status == 200


def test_a_client_that_sends_nothing_is_dropped_in_silence(monkeypatch, capfd):
    monkeypatch.setattr("inferwatch.http_server._Handler.timeout", 0.05)
    with serving() as server:
        with socket.create_connection(split_address(server.address), timeout=DEADLINE) as client:
            client.sendall(b"GET /heal")
            assert client.recv(65536) == b""
        assert ask(server, "/healthz").status == 200
    assert "Traceback" not in capfd.readouterr().err


def test_a_body_that_never_comes_is_a_timeout(monkeypatch):
    monkeypatch.setattr("inferwatch.http_server._Handler.timeout", 0.05)
    with (
        serving([Route("/in", lambda _: Response("in"), method="POST")]) as server,
        socket.create_connection(split_address(server.address), timeout=DEADLINE) as client,
    ):
        client.sendall(b"POST /in HTTP/1.1\r\nContent-Length: 10\r\n\r\n")
        answer = client.recv(65536)
    assert answer.split(b" ", 2)[1] == b"408"


def test_requests_are_answered_side_by_side():
    both_inside = threading.Barrier(2, timeout=DEADLINE)

    def meet(_: Request) -> Response:
        both_inside.wait()
        return Response("met")

    answers = []
    with serving([Route("/meet", meet)]) as server:
        threads = [threading.Thread(target=lambda: answers.append(ask(server, "/meet").data)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [b"met", b"met"]


def test_stop_finishes_what_is_in_flight_and_frees_the_port():
    inside, go_on = threading.Event(), threading.Event()

    def slow(_: Request) -> Response:
        inside.set()
        assert go_on.wait(DEADLINE)
        return Response("done")

    answers = []
    with serving([Route("/slow", slow)]) as server:
        client = threading.Thread(target=lambda: answers.append(ask(server, "/slow").data))
        client.start()
        assert inside.wait(DEADLINE)
        stopper = threading.Thread(target=server.stop)
        stopper.start()
        go_on.set()
        stopper.join()
        client.join()
    assert answers == [b"done"]
    with serving(listen=server.address) as again:
        assert again.address == server.address


def test_stop_without_start_frees_the_port():
    server = ExpositionServer("test-exporter", "127.0.0.1:0", None)
    server.stop()
    with serving(listen=server.address):
        pass


def test_a_taken_port_is_named():
    with serving() as server, pytest.raises(InferwatchError) as caught:
        ExpositionServer("second", server.address, None)
    assert str(caught.value) == (
        f"cannot listen on {server.address}: Address already in use; "
        "end what holds it or choose another with --web.listen-address"
    )


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(InferwatchError, match=r"cannot listen on 192\.0\.2\.1:0: .*; choose another address with"):
        ExpositionServer("test-exporter", "192.0.2.1:0", None)


def test_no_name_is_looked_up_at_start(monkeypatch):
    monkeypatch.setattr(socket, "getfqdn", lambda *_: pytest.fail("getfqdn waits for DNS"))
    with serving() as server:
        assert ask(server, "/healthz").status == 200


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")
def test_ipv6_address():
    with serving(listen="[::1]:0") as server:
        assert server.address.startswith("[::1]:")
        assert ask(server, "/healthz").status == 200


def test_an_empty_host_is_every_interface():
    with serving(listen=":0") as server:
        assert ask(server, "/healthz").status == 200


@pytest.mark.parametrize(
    "listen", ["", "9811", "localhost", "localhost:", "localhost:http", "127.0.0.1:65536", "a:-1", "a:1\n", "h:\u00b2"]
)
def test_what_is_no_address(listen):
    with pytest.raises(InferwatchError, match="is not an address; write host:port, such as"):
        split_address(listen)


def test_ipv6_without_brackets_is_explained():
    with pytest.raises(InferwatchError, match="write an IPv6 address in brackets"):
        split_address("::1:9811")


def test_requests_are_logged_only_for_debugging(caplog):
    for level in ("info", "debug"):
        # The line is written after the answer; stopping waits for it.
        with caplog.at_level(level.upper()), serving() as server:
            ask(server, f"/healthz?key=at-{level}")
    assert "at-info" not in caplog.text
    assert "at-debug" in caplog.text

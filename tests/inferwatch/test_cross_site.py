"""Who may ask where an answer costs something: people and scrapes, and no page of another site."""

import pytest
from test_exposition import ask, serving

from inferwatch.cross_site import refusal
from inferwatch.exposition import Request, Response, Route

OTHER_SITE = "a page of another site asks for what costs something"
OTHER_HOST = "the request is for another host"


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({}, None),
        ({"host": "127.0.0.1:9811"}, None),
        ({"sec-fetch-site": "none"}, None),
        ({"sec-fetch-site": "same-origin", "host": "localhost:9811"}, None),
        # Another port of this machine is the same site and yet another server's page.
        ({"sec-fetch-site": "same-site"}, OTHER_SITE),
        ({"sec-fetch-site": "cross-site"}, OTHER_SITE),
        ({"sec-fetch-site": "cross-site", "host": "localhost:9811"}, OTHER_SITE),
        ({"sec-fetch-site": ""}, OTHER_SITE),
        ({"sec-fetch-site": "what comes to be"}, OTHER_SITE),
    ],
)
@pytest.mark.parametrize("on_loopback", [False, True])
def test_whose_page_asks(headers: dict[str, str], sentence: str | None, on_loopback: bool) -> None:
    found = refusal(headers, on_loopback=on_loopback)
    assert found is None if sentence is None else found is not None and found.startswith(sentence)


def test_the_machines_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "GPU-01")
    assert refusal({"host": "gpu-01:9811"}, on_loopback=True) is None
    assert refusal({"host": "gpu-02:9811"}, on_loopback=True) is not None


@pytest.mark.parametrize(
    "host", ["localhost", "localhost.:9811", "LocalHost:9811", "127.0.0.1", "127.8.9.1:9811", "[::1]", "[::1]:9811"]
)
def test_names_of_this_machine(host: str) -> None:
    assert refusal({"host": host}, on_loopback=True) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:9811",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost, evil.example",
        "10.0.0.7:9811",
        "0.0.0.0:9811",  # leads a browser to loopback too
        "[::]:9811",
        "[::1",
        "2130706433",
        ":9811",
        "",
    ],
)
def test_other_names(host: str) -> None:
    found = refusal({"host": host}, on_loopback=True)
    assert found is not None and found.startswith(OTHER_HOST)
    # Who listens to a network has names that are not known here.
    assert refusal({"host": host}, on_loopback=False) is None


@pytest.mark.parametrize(
    ("listen", "host", "status"),
    [
        ("127.0.0.1:0", "evil.example", 403),
        ("localhost:0", "evil.example", 403),
        ("127.0.0.1:0", "127.0.0.1", 200),
        (":0", "gpu-01.example", 200),
        ("0.0.0.0:0", "gpu-01.example", 200),
    ],
)
def test_a_server_knows_whether_it_is_reached_from_elsewhere(listen: str, host: str, status: int) -> None:
    with serving([Route("/paid", lambda _: Response("done\n"), costs=True)], listen) as server:
        answer = ask(server, "/paid", headers={"Host": host})
    assert answer.status == status and answer.data.count(b"\n") == 1


def test_what_costs_is_done_for_no_other_site_and_for_no_head() -> None:
    done: list[Request] = []

    def paid(request: Request) -> Response:
        done.append(request)
        return Response("done")

    routes = [Route("/paid", paid, costs=True), Route("/free", paid)]
    with serving(routes) as server:
        assert ask(server, "/paid", headers={"Sec-Fetch-Site": "cross-site"}).status == 403
        assert ask(server, "/paid", "HEAD", {"Sec-Fetch-Site": "cross-site"}).status == 403
        head = ask(server, "/paid", "HEAD")
        assert (head.status, head.getheader("Content-Length"), done) == (200, "0", [])
        assert ask(server, "/paid").data == b"done" and len(done) == 1
        assert ask(server, "/free", "HEAD", {"Sec-Fetch-Site": "cross-site"}).status == 200 and len(done) == 2

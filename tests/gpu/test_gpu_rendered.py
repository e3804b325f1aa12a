"""`/metrics` is rendered once for each collection, and never served when it is no longer true."""

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from gpu_fakes import wait_until
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import make_wsgi_app

from exporters.gpu import rendered as rendered_module
from exporters.gpu.rendered import Rendered

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


class Page:
    """The application under test, what it renders, and how often it did."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self.gauge = Gauge("value", "A value.", registry=registry)
        self.app = make_wsgi_app(registry)
        self.renderings = 0
        self.good_until = time.monotonic() + 3600
        self.changed = threading.Event()
        self.rendered = Rendered(self.count, self.changed, lambda: self.good_until, 3600.0)
        self.rendered.start()

    def count(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        self.renderings += 1
        return self.app(environ, start_response)

    def scrape(self, accept: str = "", encoding: str = "", query: str = "") -> tuple[dict[str, str], bytes]:
        headers: dict[str, str] = {}
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics", "QUERY_STRING": query}
        environ |= {"HTTP_ACCEPT": accept, "HTTP_ACCEPT_ENCODING": encoding}
        body = b"".join(self.rendered(environ, lambda _, given: headers.update(given)))
        return headers, body


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    monkeypatch.setattr(rendered_module, "SETTLE_SECONDS", 0.01)
    made = Page()
    yield made
    made.rendered.stop()


def test_scrapes_between_changes_render_once(page: Page) -> None:
    page.gauge.set(1)
    assert b"value 1.0" in page.scrape()[1]
    page.gauge.set(2)
    assert all(b"value 1.0" in page.scrape()[1] for _ in range(10))
    assert page.renderings == 1
    page.changed.set()
    wait_until(lambda: b"value 2.0" in page.scrape()[1])
    assert page.renderings == 2


def test_each_form_is_kept_by_itself(page: Page) -> None:
    for _ in range(3):
        headers, body = page.scrape(OPENMETRICS, "gzip")
        assert headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(body).endswith(b"# EOF\n")
        assert headers["Content-Type"].startswith("application/openmetrics-text")
        headers, body = page.scrape()
        assert "Content-Encoding" not in headers
        assert body.startswith(b"# HELP")
    assert page.renderings == 2
    page.changed.set()
    wait_until(lambda: page.renderings == 4)


def test_clients_that_ask_for_the_same_in_other_words_share_it(page: Page) -> None:
    for browser in range(20):
        page.scrape(f"text/html,application/xhtml+xml;q=0.{browser},*/*", "gzip, deflate, br")
    assert page.renderings == 1


def test_what_is_no_longer_true_is_not_served(page: Page) -> None:
    page.gauge.set(1)
    page.good_until = time.monotonic()
    page.scrape()
    page.gauge.set(2)
    assert b"value 2.0" in page.scrape()[1]


def test_a_part_of_the_page_is_rendered_for_itself(page: Page) -> None:
    page.scrape()
    assert b"value" not in page.scrape(query="name[]=other")[1]
    assert b"value" in page.scrape(query="name[]=value")[1]


def test_a_form_that_nobody_asks_for_any_more_is_forgotten(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    page.scrape()
    page.scrape(OPENMETRICS)
    monkeypatch.setattr(rendered_module, "FORGET_FORM_SECONDS", -1.0)
    page.changed.set()
    wait_until(lambda: not page.changed.is_set())
    assert page.renderings == 2


def test_who_scrapes_seldom_is_not_rendered_for_at_each_change(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    page.rendered._longest = 5.0
    now = time.monotonic()
    for at in (now - 30, now - 15, now):
        monkeypatch.setattr(rendered_module.time, "monotonic", lambda at=at: at)
        page.scrape()
    monkeypatch.undo()
    before = page.renderings
    page.gauge.set(2)
    page.changed.set()
    wait_until(lambda: not page.rendered._answers)
    assert page.renderings == before
    assert b"value 2.0" in page.scrape()[1]


def test_the_answer_is_ready_when_the_next_scrape_may_come(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    page.rendered._longest = 5.0
    now = time.monotonic()
    for at in (now - 25, now - 10, now - 6):  # two clients, each every 15 s
        monkeypatch.setattr(rendered_module.time, "monotonic", lambda at=at: at)
        page.scrape()
    monkeypatch.undo()
    before = page.renderings
    page.changed.set()
    wait_until(lambda: page.renderings == before + 1)


def test_the_answer_is_made_ready_shortly_before_it_may_be_asked_for(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendered_module, "LEAD_SECONDS", 14.5)
    now = time.monotonic()
    for at in (now - 15, now):
        monkeypatch.setattr(rendered_module.time, "monotonic", lambda at=at: at)
        page.scrape()
    monkeypatch.setattr(rendered_module.time, "monotonic", lambda: now + 0.4)
    before = page.renderings
    page.changed.set()
    wait_until(lambda: not page.rendered._answers)
    assert page.renderings == before
    monkeypatch.setattr(rendered_module.time, "monotonic", lambda: now + 0.6)
    wait_until(lambda: page.renderings == before + 1)


def test_who_looked_a_few_times_and_went_away_is_not_rendered_for(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    page.rendered._longest = 5.0
    now = time.monotonic()
    for at in (now - 10, now - 9):
        monkeypatch.setattr(rendered_module.time, "monotonic", lambda at=at: at)
        page.scrape()
    monkeypatch.undo()
    before = page.renderings
    page.changed.set()
    wait_until(lambda: not page.rendered._answers)
    assert page.renderings == before


def test_a_fault_of_rendering_is_answered_and_told(page: Page, caplog: pytest.LogCaptureFixture) -> None:
    page.scrape()
    page.app = lambda *_: 1 / 0  # type: ignore[assignment,return-value]
    page.changed.set()
    wait_until(lambda: "rendering ahead failed" in caplog.text)
    with pytest.raises(ZeroDivisionError):
        page.scrape()

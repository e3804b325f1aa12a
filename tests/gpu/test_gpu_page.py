"""The page is what prometheus_client would write, written faster."""

import gzip
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import make_wsgi_app
from prometheus_client.metrics_core import Metric as Family

from exporters.gpu import page as page_module
from exporters.gpu.page import MOST_FORMATS, Page, Point, Text, family
from inferwatch.metric import Metric

HEAT = Metric("heat_celsius", "gauge", 'A gauge with a "quote", a \\ and a\nline.', ("gpu", "a_name"))
JOULES = Metric("joules_total", "counter", "A counter.", ("gpu",))
BARE = Metric("bare", "gauge", "Without labels.")
ORDER = (JOULES, HEAT, BARE)

FORMATS = (
    "",
    "text/plain;version=1.0.0;escaping=allow-utf-8",
    "application/openmetrics-text",
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8,text/plain;version=0.0.4;q=0.5",
)


def answer(app: Any, accept: str, encoding: str = "", query: str = "") -> tuple[str, dict[str, str], bytes]:
    """Return status, headers and body of one request."""
    begun: list[Any] = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics", "QUERY_STRING": query}
    environ |= {"HTTP_ACCEPT": accept, "HTTP_ACCEPT_ENCODING": encoding}
    body = b"".join(app(environ, lambda status, headers: begun.extend((status, dict(headers)))))
    return begun[0], begun[1], body


class Shown:
    """Some points, the page of them, and the page as prometheus_client makes it."""

    def __init__(self, points: Iterable[Point]) -> None:
        self.points = list(points)
        self.others = CollectorRegistry()
        Gauge("other", "Of another collector.", registry=self.others).set(7)
        self.whole = CollectorRegistry(auto_describe=True)
        self.whole.register(self)  # type: ignore[arg-type]
        self.whole.register(self.others)  # type: ignore[arg-type]
        self.page = Page(lambda: self.points, ORDER, self.others, self.whole)
        self.theirs = make_wsgi_app(self.whole)

    def collect(self) -> Iterable[Family]:
        for metric in ORDER:
            made = family(metric)
            for _, labels, value in (point for point in self.points if point[0] is metric):
                made.add_metric(labels, value)  # type: ignore[attr-defined]
            if made.samples:
                yield made


NUMBERS = st.floats() | st.integers(-(2**70), 2**70)
TEXTS = st.text(max_size=8)
POINTS = st.lists(
    st.tuples(st.just(HEAT), st.tuples(TEXTS, TEXTS), NUMBERS)
    | st.tuples(st.just(JOULES), st.tuples(TEXTS), NUMBERS)
    | st.tuples(st.just(BARE), st.just(()), NUMBERS),
    unique_by=lambda point: (point[0].name, point[1]),
    max_size=12,
)


@given(st.lists(POINTS, min_size=1, max_size=3))
def test_the_page_is_prometheus_clients_to_the_byte(renderings: list[list[Point]]) -> None:
    shown = Shown([])
    # One page for all of them: what it has learnt of one rendering is used in the next.
    for shown.points in renderings:
        for accept in FORMATS:
            assert answer(shown.page, accept) == answer(shown.theirs, accept)


def test_a_body_is_compressed_for_who_asks() -> None:
    shown = Shown([(JOULES, ("0",), 5.0)])
    _, headers, body = answer(shown.page, "", "gzip, br")
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == answer(shown.theirs, "")[2]


def test_a_series_is_written_once_and_forgotten_with_what_it_describes() -> None:
    written = []

    def encoder(collector: Any) -> bytes:
        written.append([sample.labels for one in collector.collect() for sample in one.samples])
        return page_module.choose_encoder("")[0](collector)

    text = Text(encoder, ORDER)
    assert text.of([(JOULES, ("0",), 1.0), (JOULES, ("1",), 2.0)]).endswith(
        '{gpu="0"} 1.0\njoules_total{gpu="1"} 2.0\n'
    )
    assert text.of([(JOULES, ("0",), 3.0)]).endswith('{gpu="0"} 3.0\n')
    assert written == [[{"gpu": "0"}, {"gpu": "1"}]]
    assert text.of([(JOULES, ("0",), 3.0), (JOULES, ("1",), 4.0)]).endswith('{gpu="1"} 4.0\n')
    assert written[1:] == [[{"gpu": "1"}]]


@pytest.mark.parametrize("name", ["heat_celsius", "other"])
def test_a_part_of_the_page_is_found_by_its_name(name: str) -> None:
    shown = Shown([(HEAT, ("0", ""), 5.0), (BARE, (), 1.0)])
    body = answer(shown.page, "", query=f"name[]={name}")[2].decode()
    assert [line.partition("{")[0].split()[0] for line in body.splitlines() if line[0] != "#"] == [name]


def test_a_client_that_names_ever_new_versions_fills_no_memory() -> None:
    shown = Shown([(BARE, (), 1.0)])
    versions = [f"application/openmetrics-text;version=1.0.{number}" for number in range(2 * MOST_FORMATS)]
    assert all(answer(shown.page, accept) == answer(shown.theirs, accept) for accept in versions)
    assert len(shown.page._formats) == MOST_FORMATS

"""The text of `/metrics`. prometheus_client writes each series once; after that only its value is new.

It takes some 10 µs to write a series, nearly all of it for names and labels that are the same each time, and there are
hundreds of them. So what it wrote before a value is kept from one rendering to the next, for as long as the series is
there.
"""

import gzip
import threading
from collections.abc import Callable, Iterable
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder, gzip_accepted, make_wsgi_app
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from inferwatch.metric import Metric

Point = tuple[Metric, tuple[str, ...], float]
# Writes what a collector has, in one format.
Encoder = Callable[[Collector], bytes]
WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

# A client names the format, and could name ever new versions of it.
MOST_FORMATS = 8
# Beyond this level the body becomes 1 % smaller for twice the time.
COMPRESSION_LEVEL = 6


def family(metric: Metric) -> Family:
    """Return a family without samples."""
    of_kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    return of_kind(metric.name, metric.help, labels=metric.labels)


class Once(Collector):
    """Collects what it was made with."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Family]:
        """Return it."""
        return self._families


class Text:
    """Points as text in one format; to be used from one thread at a time.

    Args:
        encoder: Writes the format.
        order: The metrics in the order in which they are shown; points are of these.
    """

    def __init__(self, encoder: Encoder, order: Iterable[Metric]) -> None:
        self._encoder = encoder
        self._order = tuple(order)
        # What comes before the series of each metric, and before the value of each series.
        self._heads: dict[str, str] = {}
        self._starts: dict[tuple[str, tuple[str, ...]], str] = {}

    def of(self, points: Iterable[Point]) -> str:
        """Return the text; the format's last line, if it has one, is not in it."""
        listed = list(points)
        self._learn(point for point in listed if (point[0].name, point[1]) not in self._starts)
        known, self._starts = self._starts, {}
        lines: dict[str, list[str]] = {}
        for metric, labels, value in listed:
            key = (metric.name, labels)
            start = self._starts[key] = known[key]
            lines.setdefault(metric.name, []).append(f"{start}{floatToGoString(value)}\n")  # type: ignore[no-untyped-call]
        shown = [metric.name for metric in self._order if metric.name in lines]
        return "".join(part for name in shown for part in (self._heads[name], *lines[name]))

    def _learn(self, points: Iterable[Point]) -> None:
        """Have these series written, and keep what is before their values."""
        families: dict[str, Family] = {}
        keys: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for metric, labels, _ in points:
            families.setdefault(metric.name, family(metric)).add_metric(labels, 0)  # type: ignore[attr-defined]
            keys.setdefault(metric.name, []).append((metric.name, labels))
        for name, one in families.items():
            lines = self._encoder(Once([one])).decode().split("\n")
            series = [line for line in lines if line and not line.startswith("#")]
            self._heads[name] = "".join(f"{line}\n" for line in lines[: lines.index(series[0])])
            self._starts |= {key: f"{line.rpartition(' ')[0]} " for key, line in zip(keys[name], series, strict=True)}


class Page:
    """The application that answers `/metrics`, as prometheus_client's would.

    Args:
        points: Returns the points of now.
        order: Their metrics, in the order in which they are shown.
        others: What is shown after them.
        whole: All of it; answers requests for a part of the page, or in one format too many.
    """

    def __init__(
        self,
        points: Callable[[], Iterable[Point]],
        order: Iterable[Metric],
        others: CollectorRegistry,
        whole: CollectorRegistry,
    ) -> None:
        self._points = points
        self._order = tuple(order)
        self._others = others
        self._whole = make_wsgi_app(whole)
        self._formats: dict[str, Text] = {}
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request."""
        encoder, content_type = choose_encoder(environ.get("HTTP_ACCEPT") or "")
        if environ.get("QUERY_STRING") or (content_type not in self._formats and len(self._formats) >= MOST_FORMATS):
            return self._whole(environ, start_response)  # type: ignore[no-any-return]
        with self._lock:
            text = self._formats.setdefault(content_type, Text(encoder, self._order)).of(self._points())
        body = text.encode() + encoder(self._others)
        headers = [("Content-Type", content_type)]
        if gzip_accepted(environ.get("HTTP_ACCEPT_ENCODING") or ""):
            body = gzip.compress(body, COMPRESSION_LEVEL)
            headers.append(("Content-Encoding", "gzip"))
        start_response("200 OK", headers)
        return [body]

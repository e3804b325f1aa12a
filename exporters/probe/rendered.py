"""`/metrics`, rendered piece by piece: what did not change since the last scrape is not rendered again.

A whole registry rendered at once keeps the interpreter from the threads that wait for tokens: for 500 targets of 4
scenarios it takes seconds. Here each target and scenario is a piece, rendered anew only after one of its probes
started, ended or was skipped. Nothing is older for it: a piece depends on its record alone, and the rest is always new.
"""

import gzip
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder, gzip_accepted

from exporters.probe.measured import MeasuredCollector
from exporters.probe.metrics import INFLIGHT
from exporters.probe.record import Record

Key = tuple[str, str]
Encoder = Callable[[Any], bytes]
Blocks = dict[bytes, bytes]  # by HELP and TYPE of a family, its samples
_Piece = tuple[object, Blocks]  # what it was rendered from
# Prometheus asks for one format; a client that makes up others must not fill the memory.
MOST_FORMATS = 4
# 9, the usual level, takes twice the time for a hundredth of the size.
GZIP_LEVEL = 5
_EOF = b"# EOF\n"
# At the beginning of a line: nothing else begins one so, since line breaks of texts are escaped.
_FAMILY = re.compile(rb"^# HELP ", re.MULTILINE)


class RenderedMetrics:
    """A WSGI application that answers as prometheus_client's own does, from pieces.

    Args:
        records: Returns the records by (target, scenario).
        intervals: Returns the configured intervals in seconds by the same keys.
        inflight: Returns how many probes run now.
        others: Everything else, rendered each time.
    """

    def __init__(
        self,
        records: Callable[[], Mapping[Key, Record]],
        intervals: Callable[[], Mapping[Key, float]],
        inflight: Callable[[], int],
        others: CollectorRegistry,
    ) -> None:
        self._records = records
        self._intervals = intervals
        self._rest = CollectorRegistry()
        # The families of the process itself; the records are rendered one by one.
        self._rest.register(MeasuredCollector(dict, dict, inflight))
        self._rest.register(_All(others))
        self._lock = threading.Lock()
        self._formats: OrderedDict[str, tuple[Encoder, dict[Key, _Piece]]] = OrderedDict()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a scrape; with `name[]`, only with the series or families of these names."""
        names = parse_qs(environ.get("QUERY_STRING", "")).get("name[]")
        encoder, content_type = choose_encoder(environ.get("HTTP_ACCEPT") or "")
        body = self._body(encoder, content_type, {name.encode() for name in names} if names else None)
        headers = [("Content-Type", content_type)]
        if gzip_accepted(environ.get("HTTP_ACCEPT_ENCODING") or ""):
            body = gzip.compress(body, GZIP_LEVEL)
            headers.append(("Content-Encoding", "gzip"))
        start_response("200 OK", headers)
        return [body]

    def refresh(self) -> None:
        """Render what has changed in each format that was asked for, so that a scrape finds little to do."""
        with self._lock:
            formats = [(encoder, content_type) for content_type, (encoder, _) in self._formats.items()]
        for encoder, content_type in formats:
            self._pieces(encoder, content_type)

    def _body(self, encoder: Encoder, content_type: str, names: set[bytes] | None) -> bytes:
        families: dict[bytes, list[bytes]] = {}
        pieces = self._pieces(encoder, content_type)
        for blocks in (*pieces, _blocks(encoder(self._rest))):
            for head, samples in blocks.items():
                families.setdefault(head, []).append(samples)
        if names is not None:
            families = {head: _named(head, samples, names) for head, samples in families.items()}
        parts = [part for head, samples in families.items() if any(samples) for part in (head, *samples)]
        if content_type.startswith("application/openmetrics-text"):
            parts.append(_EOF)
        return b"".join(parts)

    def _pieces(self, encoder: Encoder, content_type: str) -> list[Blocks]:
        """Return the blocks of each record, rendering those that changed."""
        intervals = self._intervals()
        records = self._records()
        with self._lock:
            _, before = self._formats.pop(content_type, (encoder, {}))
            self._formats[content_type] = encoder, before
            while len(self._formats) > MOST_FORMATS:
                self._formats.popitem(last=False)
        now: dict[Key, _Piece] = {}
        for key, record in records.items():
            # Taken before rendering, so that what changes meanwhile is rendered again the next time.
            version = (record, record.version, intervals.get(key))
            held = before.get(key)
            if held is None or held[0] != version:
                held = (version, _piece(encoder, key, record, intervals))
            now[key] = held
        with self._lock:
            if content_type in self._formats:
                self._formats[content_type] = encoder, now
        return [blocks for _, blocks in now.values()]


class _All:
    """Yields what another registry does."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Any]:
        return self._registry.collect()


def _piece(encoder: Encoder, key: Key, record: Record, intervals: Mapping[Key, float]) -> Blocks:
    one = {key: record}
    collector = MeasuredCollector(lambda: one, lambda: intervals, lambda: 0)
    blocks = _blocks(encoder(collector))
    return {
        head: samples for head, samples in blocks.items() if not head.startswith(f"# HELP {INFLIGHT.name} ".encode())
    }


def _named(head: bytes, blocks: list[bytes], names: set[bytes]) -> list[bytes]:
    """Return the samples with these names; all if it is the name of their family (in OpenMetrics without _total)."""
    family = head.split(b" ", 3)[2]
    if names & {family, family + b"_total"}:
        return blocks
    lines = (line for samples in blocks for line in samples.splitlines(keepends=True))
    return [line for line in lines if re.split(rb"[{ ]", line, maxsplit=1)[0] in names]


def _blocks(text: bytes) -> Blocks:
    """Split a rendered text into families."""
    blocks: Blocks = {}
    for block in _FAMILY.split(text.removesuffix(_EOF))[1:]:
        helping, typing, samples = block.split(b"\n", 2)
        blocks[b"# HELP " + helping + b"\n" + typing + b"\n"] = samples
    return blocks

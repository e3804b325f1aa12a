"""`/metrics`, rendered piece by piece: what did not change since the last scrape is not rendered again.

A whole registry rendered at once keeps the interpreter from the threads that wait for tokens: for 500 targets of 4
scenarios it takes seconds. Here each target and scenario is a piece, rendered anew only after one of its probes
started, ended or was skipped. Nothing is older for it: a piece depends on its record alone, and the rest is always new.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any
from urllib.parse import parse_qs

from prometheus_client import CollectorRegistry
from prometheus_client import Metric as Family
from prometheus_client.exposition import choose_encoder, gzip_accepted

from exporters.probe.key import Key
from exporters.probe.series.families import FamilyKey
from exporters.probe.series.lines import Lines, Piece
from exporters.probe.series.measured import MeasuredCollector, add_record
from exporters.probe.series.record import Record

Encoder = Callable[[Any], bytes]
# 9, the usual level, takes twice the time for a hundredth of the size.
GZIP_LEVEL = 5
# So many pieces are joined, and compressed at once.
AT_ONCE = 64
_GZIP = 16  # added to the window's size, gzip's head and tail (zlib.h)
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
        self._rendered: dict[Key, tuple[object, Piece]] = {}  # with what it was rendered from

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a scrape; with `name[]`, only with the series or families of these names."""
        names = parse_qs(environ.get("QUERY_STRING", "")).get("name[]")
        encoder, content_type = choose_encoder(environ.get("HTTP_ACCEPT") or "")
        families = self._families(encoder, {name.encode() for name in names} if names else None)
        end = _EOF if content_type.startswith("application/openmetrics-text") else b""
        headers = [("Content-Type", content_type)]
        if gzip_accepted(environ.get("HTTP_ACCEPT_ENCODING") or ""):
            headers.append(("Content-Encoding", "gzip"))
            body = _packed([*families, end])
        else:
            body = [*families, end]
        start_response("200 OK", headers)
        return body

    def refresh(self) -> None:
        """Render what has changed, so that a scrape finds little to do."""
        self._pieces()

    def _families(self, encoder: Encoder, names: set[bytes] | None) -> Iterator[bytes]:
        """Yield the families one after the other, in parts that are small beside the whole."""
        pieces = self._pieces()
        others = _blocks(encoder(self._rest))
        shapes = {id(piece.places): piece.places for piece in pieces}.values()
        for family in dict.fromkeys(chain.from_iterable(shapes)):
            head = encoder(_Head(family)).removesuffix(_EOF)
            parts = chain((piece.of(family) for piece in pieces), (others.pop(head, b""),))
            yield from _family(head, parts, names)
        for head, samples in others.items():
            yield from _family(head, (samples,), names)

    def _pieces(self) -> list[Piece]:
        """Return the samples of each record, rendering those that changed."""
        intervals = self._intervals()
        before, now = self._rendered, {}
        for key, record in self._records().items():
            # Taken before rendering, so that what changes meanwhile is rendered again the next time.
            version = (record, record.version, intervals.get(key))
            held = before.get(key)
            if held is None or held[0] != version:
                held = (version, _piece(key, record, intervals.get(key)))
            now[key] = held
        self._rendered = now
        return [piece for _, piece in now.values()]


class _Head:
    """Yields a family without samples."""

    def __init__(self, key: FamilyKey) -> None:
        self._key = key

    def collect(self) -> Iterable[Family]:
        return [Family(*self._key)]


class _All:
    """Yields what another registry does."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Any]:
        return self._registry.collect()


def _piece(key: Key, record: Record, interval: float | None) -> Piece:
    lines = Lines()
    add_record(lines, key, record, interval)
    return lines.piece()


def _family(head: bytes, parts: Iterable[bytes], names: set[bytes] | None) -> Iterator[bytes]:
    """Yield a family with the samples that have these names, unless it has none."""
    wanted = filter(None, parts if names is None else _named(head, parts, names))
    while some := b"".join(islice(wanted, AT_ONCE)):
        yield head + some
        head = b""


def _packed(parts: Iterable[bytes]) -> list[bytes]:
    """Compress part by part, so that the whole is never held beside the pieces."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | _GZIP)
    packed = [packer.compress(part) for part in parts]
    return [*packed, packer.flush()]


def _named(head: bytes, parts: Iterable[bytes], names: set[bytes]) -> Iterable[bytes]:
    """Return the samples with these names; all if it is the name of their family (in OpenMetrics without _total)."""
    family = head.split(b" ", 3)[2]
    if names & {family, family + b"_total"}:
        return parts
    lines = (line for samples in parts for line in samples.splitlines(keepends=True))
    return (line for line in lines if re.split(rb"[{ ]", line, maxsplit=1)[0] in names)


def _blocks(text: bytes) -> dict[bytes, bytes]:
    """Split a rendered text into families: samples by HELP and TYPE."""
    blocks = {}
    for block in _FAMILY.split(text.removesuffix(_EOF))[1:]:
        helping, typing, samples = block.split(b"\n", 2)
        blocks[b"# HELP " + helping + b"\n" + typing + b"\n"] = samples
    return blocks

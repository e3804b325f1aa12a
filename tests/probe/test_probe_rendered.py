"""The pieces of `/metrics` say what the whole would, and only what changed is rendered again."""

import gzip
import itertools
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import Metric as Family
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families
from test_probe_record import GOOD, SLO

from exporters.probe.metrics import TARGETS_CONFIGURED
from exporters.probe.series import rendered
from exporters.probe.series.families import Families
from exporters.probe.series.measured import MeasuredCollector
from exporters.probe.series.record import Record
from exporters.probe.series.rendered import RenderedMetrics

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
WILD = 'quote " backslash \\ line\n# HELP llm_probe_started_total no'


class Others:
    def collect(self) -> Iterable[Family]:
        families = Families()
        families.add(TARGETS_CONFIGURED, {}, 3)
        return families.all()


class Page:
    """Two records and what is served of them."""

    def __init__(self) -> None:
        self.records = {("chat", "short"): Record("m"), ("other", "short"): Record(WILD)}
        self.intervals = dict.fromkeys(self.records, 60.0)
        self.others = CollectorRegistry()
        self.others.register(Others())
        self.app = RenderedMetrics(lambda: self.records, lambda: self.intervals, lambda: 1, self.others)

    def get(self, accept: str = "", query: str = "", encoding: str = "") -> tuple[dict[str, str], bytes]:
        begun: list[dict[str, str]] = []
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics", "QUERY_STRING": query}
        environ |= {"HTTP_ACCEPT": accept, "HTTP_ACCEPT_ENCODING": encoding}
        body = b"".join(self.app(environ, lambda status, headers: begun.append(dict(headers))))
        return begun[0], body

    def whole(self, generate: Any) -> list[bytes]:
        registry = CollectorRegistry()
        registry.register(MeasuredCollector(lambda: self.records, lambda: self.intervals, lambda: 1))
        registry.register(Others())
        return sorted(generate(registry).splitlines())


def probe(record: Record) -> None:
    record.start()
    record.end(GOOD, SLO, 0.0)


@pytest.mark.parametrize(("accept", "generate"), [("", generate_latest), (OPENMETRICS, generate_openmetrics)])
def test_it_says_what_the_whole_says(accept: str, generate: Any) -> None:
    page = Page()
    for _ in range(3):
        headers, body = page.get(accept)
        assert sorted(body.splitlines()) == page.whole(generate)
        heads = [line for line in body.splitlines() if line.startswith((b"# HELP ", b"# TYPE "))]
        assert len(heads) == len(set(heads))
        assert body.endswith(b"# EOF\n") == bool(accept)
        assert headers["Content-Type"].startswith("application/openmetrics-text" if accept else "text/plain")
        probe(page.records["chat", "short"])


def test_families_are_whole() -> None:
    """A family whose samples stand in two places is refused by parsers; theirs joins what follows one head."""
    page = Page()
    probe(page.records["chat", "short"])
    _, body = page.get()
    families = list(text_string_to_metric_families(body.decode()))
    assert len(families) == len({family.name for family in families})
    names = [line.split(b"{")[0].split(b" ")[0] for line in body.splitlines() if not line.startswith(b"#")]
    runs = Counter(name for name, _ in itertools.groupby(names) if not name.endswith((b"_bucket", b"_count", b"_sum")))
    assert set(runs.values()) == {1}


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    made: list[tuple[str, str]] = []
    piece = rendered._piece

    def counted(key: tuple[str, str], *more: Any) -> Any:
        made.append(key)
        return piece(key, *more)

    monkeypatch.setattr(rendered, "_piece", counted)
    return made


def test_only_what_changed_is_rendered_again(pieces: list[tuple[str, str]]) -> None:
    page = Page()
    page.get()
    page.get()
    assert Counter(pieces) == {("chat", "short"): 1, ("other", "short"): 1}
    chat = page.records["chat", "short"]
    for change in (
        chat.start,
        lambda: chat.end(GOOD, SLO, 0.0),
        lambda: chat.skip("overlap"),
        lambda: chat.name_model("n"),
    ):
        pieces.clear()
        change()
        assert sorted(page.get()[1].splitlines()) == page.whole(generate_latest)
        assert pieces == [("chat", "short")]
    pieces.clear()
    page.intervals["chat", "short"] = 30.0
    page.records["other", "short"] = Record("new")
    assert sorted(page.get()[1].splitlines()) == page.whole(generate_latest)
    assert len(pieces) == 2


def test_a_refresh_leaves_a_scrape_nothing_to_render_in_any_format(pieces: list[tuple[str, str]]) -> None:
    page = Page()
    page.app.refresh()
    probe(page.records["chat", "short"])
    pieces.clear()
    page.app.refresh()
    assert pieces == [("chat", "short")]
    page.get()
    page.get(OPENMETRICS)
    assert len(pieces) == 1


def test_a_deleted_target_is_gone() -> None:
    page = Page()
    page.get()
    del page.records["other", "short"]
    assert b'target="other"' not in page.get()[1]
    assert set(page.app._rendered) == {("chat", "short")}


def series(body: bytes) -> set[str]:
    return {sample.name for family in text_string_to_metric_families(body.decode()) for sample in family.samples}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("name[]=llm_probe_started_total", {"llm_probe_started_total"}),
        ("name[]=llm_probe_ttft_seconds_count", {"llm_probe_ttft_seconds_count"}),
        ("name[]=llm_probe_ttft_seconds", {f"llm_probe_ttft_seconds{end}" for end in ("_bucket", "_count", "_sum")}),
        ("name%5B%5D=llm_targets_configured&name%5B%5D=llm_probe_last_success",
         {"llm_targets_configured", "llm_probe_last_success"}),
        ("name[]=llm_probe_last", set()),
    ],
)  # fmt: skip
def test_names_choose_series_or_families(query: str, found: set[str]) -> None:
    page = Page()
    probe(page.records["chat", "short"])
    assert series(page.get(query=query)[1]) == found
    # Heads without samples are left out.
    heads = [line for line in page.get(query=query)[1].splitlines() if line.startswith(b"# HELP ")]
    assert len(heads) == len({name.split("_ttft")[0] for name in found})
    openmetrics = page.get(OPENMETRICS, query)[1].splitlines()
    assert openmetrics[-1] == b"# EOF"
    assert {re.split("[{ ]", line.decode())[0] for line in openmetrics if line[:1] != b"#"} == found


def test_another_query_changes_nothing() -> None:
    page = Page()
    assert page.get(query="debug=1") == page.get()


def test_gzip_is_kept() -> None:
    page = Page()
    headers, body = page.get(encoding="gzip, deflate")
    assert headers["Content-Encoding"] == "gzip" and gzip.decompress(body) == page.get()[1]

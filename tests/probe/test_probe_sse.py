"""The splitter gives the same events however the bytes are cut and whichever line ends they have."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.probe.failures import StreamFormatError
from exporters.probe.protocols.sse import ServerSentEvent, SseSplitter

# Any text without line ends, with the characters that str.splitlines would split on.
line_text = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)
line_text_or_separators = line_text | st.sampled_from(["a\u2028b", "\u2029", "\u0085x", "\x0b\x0c", "\ufeff"])


def split(data: bytes) -> list[ServerSentEvent]:
    return SseSplitter().feed(data)


def split_in_pieces(data: bytes, cuts: list[int]) -> list[ServerSentEvent]:
    splitter = SseSplitter()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [event for start, end in pairwise(edges) for event in splitter.feed(data[start:end])]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_closes_an_event(line_end: bytes) -> None:
    data = line_end.join([b"event: note", b"data: one", b"data:two", b"", b"data: three", b"", b""])
    assert split(data) == [ServerSentEvent("note", b"one\ntwo"), ServerSentEvent("", b"three")]


def test_an_event_is_given_with_the_carriage_return_that_closes_it() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: a\r\n\r") == [ServerSentEvent("", b"a")]
    assert splitter.feed(b"\ndata: b\r\n\r\n") == [ServerSentEvent("", b"b")]


def test_only_one_space_after_the_colon_is_removed() -> None:
    assert split(b"data:  x \n\n") == [ServerSentEvent("", b" x ")]


def test_comments_unknown_fields_and_bare_names_are_no_events() -> None:
    assert split(b": ping\n\n:\n\nid: 7\nretry: 10\nnonsense\n\n") == []
    assert split(b"data\n\n") == [ServerSentEvent("", b"")]


def test_an_event_without_data_keeps_its_name_to_itself() -> None:
    assert split(b"event: ping\n\ndata: x\n\n") == [ServerSentEvent("", b"x")]


def test_a_byte_order_mark_at_the_start_is_skipped() -> None:
    assert split(b"\xef\xbb\xbfdata: x\n\n") == [ServerSentEvent("", b"x")]


def test_flush_gives_a_whole_line_without_its_blank_line_and_drops_half_a_line() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: [DONE]\ndata: ha") == []
    assert splitter.flush() == [ServerSentEvent("", b"[DONE]")]


@pytest.mark.parametrize(
    "data",
    [b"data: " + b"x" * 100, b"data: " + b"x" * 100 + b"\n", b"data: xxxxxxxxxxxx\n" * 3],
    ids=["open line", "closed line", "many lines"],
)
def test_more_than_the_limit_is_an_error(data: bytes) -> None:
    with pytest.raises(StreamFormatError, match="longer than 32 bytes"):
        SseSplitter(longest=32).feed(data)


def test_a_long_line_in_small_pieces_is_searched_once() -> None:
    splitter = SseSplitter(longest=1 << 20)
    splitter.feed(b"data: ")
    for _ in range(10_000):
        assert splitter.feed(b"x" * 100) == []
    assert splitter.feed(b"\n\n") == [ServerSentEvent("", b"x" * 1_000_000)]


@given(
    lines=st.lists(st.tuples(st.sampled_from(["data: ", "data:", ":", "event: ", ""]), line_text_or_separators)),
    ends=st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=1),
    cuts=st.lists(st.integers(0, 400), max_size=12),
)
def test_any_cut_gives_the_same_events(lines: list[tuple[str, str]], ends: list[str], cuts: list[int]) -> None:
    text = "".join(
        prefix + (content if prefix else "") + ends[index % len(ends)]
        for index, (prefix, content) in enumerate([*lines, ("data: ", "last"), ("", "")])
    )
    data = text.encode()
    assert split_in_pieces(data, cuts) == split(data)
    assert split_in_pieces(data, list(range(len(data)))) == split(data)


@given(contents=st.lists(line_text_or_separators, min_size=1))
def test_the_text_of_every_event_survives(contents: list[str]) -> None:
    data = "".join(f"data: {content}\n\n" for content in contents).encode()
    assert [event.data.decode() for event in split(data)] == contents

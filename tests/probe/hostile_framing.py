"""Odd framings of our own: the events are whole and good, or bad, by how their bytes are laid out."""

import json
from dataclasses import replace

from hostile_dialects import DIALECTS, SSE, Dialect, data
from hostile_research import LATER
from hostile_script import NOTHING, THREE, WORDS, Facts, Steps, cut, each, ended, stream, tokens, whole

CHAT = ["openai-chat"]
# Three tokens, and what makes the rest unreadable at 0.36 s.
UNREADABLE = replace(THREE, outcome="stream_error")
COUNTED = {"llamacpp": {"source": "usage"}}


@stream(SSE, Facts())
def cr_only(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: piece.replace(b"\n", b"\r"))


@stream(SSE, Facts())
def byte_order_mark(say: Dialect) -> Steps:
    yield 0.01, b"\xef\xbb\xbf"
    yield from whole(say)


@stream(SSE, Facts())
def data_over_two_lines(say: Dialect) -> Steps:
    """The lines of an event's data are joined, here between two members of its object."""
    return each(whole(say), lambda piece: piece.replace(b', "', b',\ndata: "'))


@stream(SSE, Facts())
def ids_and_retries(say: Dialect) -> Steps:
    yield 0.01, b"retry: 3000\n\n"
    yield from each(whole(say), lambda piece: b"id: 7\n" + piece)


@stream(SSE, Facts())
def comment_inside_an_event(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: b": keep-alive\n" + piece)


@stream(CHAT, Facts())
def named_events(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: b"event: chat.completion.chunk\n" + piece)


@stream(SSE, Facts())
def named_message(say: Dialect) -> Steps:
    """The name that an event without one has."""
    return each(whole(say), lambda piece: piece if piece.startswith(b"event") else b"event: message\n" + piece)


ASIDES = (
    b"event: ping\ndata: 1700000000\n\n",
    b"event: heartbeat\ndata: null\n\n",
    b'event: ping\ndata: "pong"\n\n',
    b"event: keep-alive\ndata: []\n\n",
)


@stream(SSE, Facts(ttfr=0.05, ttfr_bare=0.05))
def asides_that_are_no_object(say: Dialect) -> Steps:
    """Named events beside the answer hold what they like: a time, nothing, a word, a list."""
    yield 0.05, b"".join(ASIDES)
    for number, (at, piece) in enumerate(whole(say)):
        yield at, ASIDES[number % len(ASIDES)] + piece


def _error_of_another_kind(name: str, junk: bytes) -> None:
    def script(say: Dialect) -> Steps:
        yield 0.1, say.start()
        yield from tokens(say, WORDS[:3])
        yield 0.36, b"event: error\ndata: " + junk + b"\n\n"

    script.__name__ = f"error_event_of_{name}"
    stream(SSE, UNREADABLE, COUNTED)(script)


_error_of_another_kind("a_word", b'"secret prompt"')
_error_of_another_kind("a_number", b"500")
_error_of_another_kind("nothing", b"null")


@stream(SSE, Facts())
def unknown_fields(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: b"generator: 7\nnonsense\n" + piece)


@stream(SSE, Facts())
def blank_lines_before_each(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: b"\n\n\n" + piece)


@stream(DIALECTS, Facts())
def blanks_at_line_ends(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: piece.replace(b"}\n", b"} \t\n"))


@stream(DIALECTS, LATER)
def last_byte_apart(say: Dialect) -> Steps:
    """The line end that closes an event comes 10 ms after the rest of it."""
    return cut(whole(say), lambda piece: len(piece) - 1)


@stream(SSE, Facts())
def crlf_cut_between(say: Dialect) -> Steps:
    """The CR ends the line at once; the LF that comes later belongs to it and ends no second one."""
    return cut(each(whole(say), lambda piece: piece.replace(b"\n", b"\r\n")), lambda piece: len(piece) - 1)


@stream(DIALECTS, LATER)
def byte_by_byte(say: Dialect) -> Steps:
    for at, piece in whole(say):
        for place in range(len(piece)):
            yield at + (0.01 if place else 0.0), piece[place : place + 1]


@stream(CHAT, Facts())
def done_in_blanks(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: piece.replace(b"data: [DONE]", b"data:   [DONE]  "))


@stream(CHAT, Facts())
def done_without_blank_line(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: piece.replace(b"[DONE]\n\n", b"[DONE]\n"))


@stream(CHAT, Facts())
def done_twice(say: Dialect) -> Steps:
    yield from whole(say)
    yield 0.5, b"data: [DONE]\n\n"


AFTER_DONE = {
    "garbage": b"data: {broken\n\n",
    "an_error": b'data: {"error": {"message": "too late"}}\n\n',
    "a_token": data({"choices": [{"delta": {"content": "never shown"}}]}),
    "bytes": b"\xff\xfe\x00",
}


def _after_done(name: str, junk: bytes, *, apart: bool) -> None:
    def script(say: Dialect) -> Steps:
        *before, last = whole(say)
        yield from before
        yield last[0], last[1] if apart else last[1] + junk
        if apart:
            yield 0.52, junk

    script.__name__ = f"{name}_after_done" + ("" if apart else "_in_one_read")
    stream(CHAT, Facts())(script)


# What follows the end that the stream itself told is nothing to its user, whether or not it came in the same read.
for _name, _junk in AFTER_DONE.items():
    _after_done(_name, _junk, apart=True)
    _after_done(_name, _junk, apart=False)


@stream(SSE, Facts())
def half_an_event_at_the_end(say: Dialect) -> Steps:
    """Another event begins behind the last one and never ends."""
    yield from whole(say)
    yield 0.5, b'data: {"half'


@stream(["ollama"], Facts())
def half_a_line_at_the_end(say: Dialect) -> Steps:
    yield from whole(say)
    yield 0.5, b'{"half'


@stream(SSE, replace(THREE, outcome="truncated"), COUNTED)
def cut_off_inside_an_event(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:3])
    yield 0.36, say.text(WORDS[3])[:-5]


def _unreadable(name: str, junk: bytes) -> None:
    def apart(say: Dialect) -> Steps:
        yield 0.1, say.start()
        yield from tokens(say, WORDS[:3])
        yield 0.36, junk

    def together(say: Dialect) -> Steps:
        """The three tokens before it are in the same read, and are counted all the same."""
        yield 0.3, b"".join([say.start(), *(say.text(word) for word in WORDS[:3]), junk])

    apart.__name__ = name
    together.__name__ = f"{name}_in_one_read"
    stream(SSE, UNREADABLE, COUNTED)(apart)
    stream(SSE, replace(UNREADABLE, ttfr=0.3, e2e=0.3, tpot=None), COUNTED)(together)


_unreadable("not_json", b"data: {broken\n\n")
_unreadable("not_an_object", b"data: [1, 2]\n\n")
_unreadable("a_number", b"data: 7\n\n")
_unreadable("null", b"data: null\n\n")
_unreadable("no_data", b"data:\n\n")
_unreadable("not_utf8", b'data: {"content": "\xff\xfe"}\n\n')
_unreadable("too_deep", b"data: " + b"[" * 100_000 + b"\n\n")
_unreadable("plain_text", b"data: hello there\n\n")


@stream(["ollama"], UNREADABLE)
def line_not_json(say: Dialect) -> Steps:
    yield from tokens(say, WORDS[:3])
    yield 0.36, b"{broken\n"


@stream(["ollama"], UNREADABLE)
def line_of_another_format(say: Dialect) -> Steps:
    yield from tokens(say, WORDS[:3])
    yield 0.36, b'data: {"message": {}}\n'


@stream(["ollama"], Facts())
def empty_lines(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: b"\n \n\r\n" + piece)


@stream(SSE, replace(NOTHING, outcome="no_tokens", ttfr=None))
def html_as_a_stream(_: Dialect) -> Steps:
    yield 0.1, b"<html>\n<body>please log in</body>\n\n</html>\n"


@stream(SSE, replace(NOTHING, outcome="no_tokens", ttfr=None))
def comments_alone(_: Dialect) -> Steps:
    for number in range(20):
        yield 0.1 * number, b": ping\n\n"


@stream(CHAT, Facts(output=1, tpot=None, e2e=0.3, text=" w0"))
def one_huge_event(say: Dialect) -> Steps:
    """Log probabilities of 200 kB beside one token."""
    yield 0.1, say.start()
    choice = {"delta": {"content": " w0"}, "logprobs": {"content": [{"token": "x" * 50}] * 3000}}
    yield 0.3, data({"choices": [choice]})
    yield from ended(say.end("stop", 1))


@stream(CHAT, replace(NOTHING, outcome="stream_error", ttfr=0.1))
def event_too_large(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield 0.3, b"data: " + json.dumps("x" * (1 << 20)).encode()


@stream(["ollama"], replace(NOTHING, outcome="stream_error"))
def line_too_large(_: Dialect) -> Steps:
    yield 0.3, json.dumps("x" * (1 << 20)).encode()


@stream(["llamacpp"], replace(THREE, outcome="stream_error", source="usage"))
def error_field(say: Dialect) -> Steps:
    """As llama.cpp sent errors until 2025: a field `error:` of its own, which no stream of events has."""
    yield from tokens(say, WORDS[:3])
    yield 0.36, b'error: {"code": 500, "message": "secret prompt", "type": "server_error"}\n\n'

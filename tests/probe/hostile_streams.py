"""Behaviours that a probe must count as a success, each odd in its own way."""

import zlib

from hostile_peer import (
    END,
    FINISH,
    ROLE,
    STEP,
    TOKENS,
    USAGE,
    Peer,
    behaviour,
    chunk,
    contents,
    data,
    stream,
    usage_chunk,
)


@behaviour
def good(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(), FINISH, data(usage_chunk(USAGE)), END)
    peer.end()


@behaviour
def unchunked(peer: Peer) -> None:
    peer.chunked = False
    good(peer)


@behaviour
def slow(peer: Peer) -> None:
    """Role after 0.1 s, tokens from 0.5 s to 1.3 s every 0.2 s, the rest 0.2 s later: times to bound from below."""
    peer.head()
    stream(peer, ROLE, step=0.1)
    peer.wait(0.2)
    stream(peer, *contents(), step=0.2)
    peer.wait(0.2)
    stream(peer, FINISH, data(usage_chunk(USAGE)), END, step=0.0)
    peer.end()


@behaviour
def legacy(peer: Peer) -> None:
    peer.head()
    for text in TOKENS:
        stream(peer, data({"choices": [{"index": 0, "text": text, "finish_reason": None}]}))
    stream(peer, data({"choices": [{"index": 0, "text": "", "finish_reason": "length"}], "usage": USAGE}), END)
    peer.end()


@behaviour
def reasoning_only(peer: Peer) -> None:
    peer.head()
    stream(peer, ROLE, *contents(field_name="reasoning_content"), data(chunk({}, "length")))
    stream(peer, data(usage_chunk(USAGE)), END)
    peer.end()


@behaviour
def reasoning_then_content(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(("a", "b"), "reasoning"), *contents(("c", "d", "e")), FINISH, data(usage_chunk(USAGE)), END)
    peer.end()


@behaviour
def tool_call(peer: Peer) -> None:
    peer.head()
    for function in ({"name": "clock", "arguments": ""}, {"arguments": '{"zone":'}, {"arguments": '"UTC"}'}):
        stream(peer, data(chunk({"tool_calls": [{"index": 0, "function": function}]})))
    stream(peer, data(chunk({}, "tool_calls")), END)
    peer.end()


@behaviour
def no_usage(peer: Peer) -> None:
    peer.head()
    stream(peer, ROLE, *contents(), FINISH, END)
    peer.end()


@behaviour
def zero_usage(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(), FINISH, data(usage_chunk({"prompt_tokens": 0, "completion_tokens": 0})), END)
    peer.end()


@behaviour
def usage_in_finish(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(), data(chunk({}, "stop", usage=USAGE)), END)
    peer.end()


@behaviour
def several_tokens_per_event(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(), FINISH, data(usage_chunk(USAGE | {"completion_tokens": 20})), END)
    peer.end()


@behaviour
def continuous_usage(peer: Peer) -> None:
    """Four tokens in the first event and eight in each of the two later ones."""
    peer.head()
    for total in (4, 12, 20):
        stream(peer, data(chunk({"content": "text"}, usage=USAGE | {"completion_tokens": total})), step=0.1)
    stream(peer, FINISH, END)
    peer.end()


@behaviour
def comments(peer: Peer) -> None:
    peer.head()
    first, *rest = contents()
    stream(peer, b": PROCESSING\n\n", b":\n\n", first, b": ping\n\n", *rest, FINISH, data(usage_chunk(USAGE)), END)
    peer.end()


@behaviour
def event_ping(peer: Peer) -> None:
    peer.head()
    first, *rest = contents()
    stream(peer, b"event: ping\ndata: pong\n\n", first, *rest, FINISH, data(usage_chunk(USAGE)), END)
    peer.end()


@behaviour
def crlf(peer: Peer) -> None:
    peer.head()
    pieces = [*contents(), FINISH, data(usage_chunk(USAGE)), END]
    stream(peer, *(piece.replace(b"\n", b"\r\n") for piece in pieces))
    peer.end()


@behaviour
def no_space(peer: Peer) -> None:
    peer.head()
    pieces = [*contents(), FINISH, data(usage_chunk(USAGE)), END]
    stream(peer, *(piece.replace(b"data: ", b"data:") for piece in pieces))
    peer.end()


@behaviour
def line_separator(peer: Peer) -> None:
    """U+2028 and U+0085 unescaped in the text, which are no line ends of this format."""
    peer.head()
    stream(peer, *contents(("a\u2028b", "\u0085", "c", "d", "e")), FINISH, data(usage_chunk(USAGE)), END)
    peer.end()


@behaviour
def cut_anywhere(peer: Peer) -> None:
    """Every piece of three bytes: inside `data:`, inside JSON and inside characters."""
    peer.head()
    whole = b"".join([*contents(("é", "漢字", "🙂", "d", "e")), FINISH, data(usage_chunk(USAGE)), END])
    for start in range(0, len(whole), 3):
        peer.send(whole[start : start + 3])
        if start % 300 == 0:
            peer.wait(0.01)
    peer.end()


@behaviour
def delta_null(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(), data(chunk(None, "stop")), data(usage_chunk(USAGE)), END)
    peer.end()


@behaviour
def azure_first(peer: Peer) -> None:
    peer.head()
    stream(peer, data({"choices": [], "prompt_filter_results": []}), *contents(), FINISH, data(usage_chunk(USAGE)), END)
    peer.end()


@behaviour
def no_done(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(), FINISH, data(usage_chunk(USAGE)))
    peer.end()


@behaviour
def open_after_done(peer: Peer) -> None:
    """Says that it is done and keeps the connection open."""
    peer.head()
    stream(peer, *contents(), FINISH, data(usage_chunk(USAGE)), END)
    peer.hold()


@behaviour
def reset_after_done(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(), FINISH, data(usage_chunk(USAGE)), END)
    peer.wait(STEP)
    peer.reset()


@behaviour
def unlabelled(peer: Peer) -> None:
    """A stream without a Content-Type, as some gateways send it."""
    peer.head("200 OK", None)
    stream(peer, *contents(), FINISH, data(usage_chunk(USAGE)), END)
    peer.end()


@behaviour
def buffered(peer: Peer) -> None:
    """Twelve tokens that a proxy held back and sends in one piece."""
    peer.head()
    peer.wait(0.2)
    usage = USAGE | {"completion_tokens": 12}
    peer.send(b"".join([*contents(tuple("abcdefghijkl")), FINISH, data(usage_chunk(usage)), END]))
    peer.end()


@behaviour
def one_event(peer: Peer) -> None:
    """Twelve tokens in a single event."""
    peer.head()
    usage = USAGE | {"completion_tokens": 12}
    stream(peer, *contents(("all of it",)), FINISH, data(usage_chunk(usage)), END)
    peer.end()


@behaviour
def gzipped(peer: Peer) -> None:
    """Compressed though the client refused it, each event flushed."""
    peer.head("200 OK", "text/event-stream", "Content-Encoding: gzip")
    packer = zlib.compressobj(wbits=31)
    for piece in (*contents(), FINISH, data(usage_chunk(USAGE)), END):
        stream(peer, packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH))
    peer.send(packer.flush())
    peer.end()

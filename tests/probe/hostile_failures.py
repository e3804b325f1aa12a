"""Behaviours that a probe must count as a failure: broken streams, silence, endless bodies, and no stream at all."""

import json

from hostile_peer import (
    BEHAVIOURS,
    END,
    FINISH,
    ROLE,
    STEP,
    TOKENS,
    Peer,
    behaviour,
    chunk,
    contents,
    data,
    stream,
)


@behaviour
def truncated(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(TOKENS[:3]))
    peer.end()


@behaviour
def truncated_unchunked(peer: Peer) -> None:
    peer.chunked = False
    truncated(peer)


@behaviour
def half_chunk(peer: Peer) -> None:
    """Ends without the last chunk that the framing demands."""
    peer.head()
    stream(peer, *contents(TOKENS[:3]))


@behaviour
def reset(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(TOKENS[:3]))
    peer.wait(STEP)
    peer.reset()


@behaviour
def reset_before_answer(peer: Peer) -> None:
    peer.reset()


@behaviour
def close_before_answer(peer: Peer) -> None:
    """Takes the request and goes."""


@behaviour
def error_first(peer: Peer) -> None:
    peer.head()
    stream(peer, data({"error": {"message": "secret prompt", "type": "server_error", "code": None}}), END)
    peer.end()


@behaviour
def error_inside(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(TOKENS[:3]), data({"error": {"message": "out of memory", "code": "overloaded"}}), END)
    peer.end()


@behaviour
def error_event(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(TOKENS[:2]), b"event: error\ndata: it broke\n\n")
    peer.end()


@behaviour
def not_json(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(TOKENS[:2]), b"data: {broken\n\n")
    peer.end()


@behaviour
def role_only(peer: Peer) -> None:
    peer.head()
    stream(peer, ROLE, FINISH, END)
    peer.end()


@behaviour
def empty(peer: Peer) -> None:
    peer.head()
    peer.end()


@behaviour
def content_filter(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(TOKENS[:2]), data(chunk({}, "content_filter")), END)
    peer.end()


@behaviour
def silent(peer: Peer) -> None:
    """Takes the request and never answers."""
    peer.hold()


@behaviour
def stall_after_finish(peer: Peer) -> None:
    """Says why the answer ended, and then neither that it is done nor closes."""
    peer.head()
    stream(peer, *contents(TOKENS[:2]), FINISH)
    peer.hold()


@behaviour
def pings_after_tokens(peer: Peer) -> None:
    """Two tokens, then keep-alives and empty events for ever."""
    peer.head()
    stream(peer, *contents(TOKENS[:2]))
    while True:
        stream(peer, b": ping\n\n", ROLE)


@behaviour
def headers_only(peer: Peer) -> None:
    peer.head()
    peer.hold()


@behaviour
def pings_only(peer: Peer) -> None:
    peer.head()
    while True:
        peer.wait(0.05)
        peer.send(b": ping\n\n")


@behaviour
def stall(peer: Peer) -> None:
    peer.head()
    stream(peer, *contents(TOKENS[:2]))
    peer.hold()


@behaviour
def stall_unchunked(peer: Peer) -> None:
    peer.chunked = False
    stall(peer)


@behaviour
def drip(peer: Peer) -> None:
    """A byte now and then, so that no timeout of a single read is ever met."""
    peer.head()
    whole = b"".join(contents())
    while True:
        for byte in whole:
            peer.wait(0.002)
            peer.send(bytes([byte]))


@behaviour
def drip_headers(peer: Peer) -> None:
    peer.sock.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        peer.wait(0.05)
        peer.sock.sendall(b"x")


@behaviour
def endless(peer: Peer) -> None:
    """Tokens without end, as fast as the client takes them."""
    peer.head()
    many = b"".join(contents()) * 200
    while True:
        peer.wait(0)
        peer.send(many)


@behaviour
def endless_line(peer: Peer) -> None:
    peer.head()
    peer.send(b"data: ")
    while True:
        peer.wait(0)
        peer.send(b"x" * 65536)


# Answers that are no stream


@behaviour
def no_http(peer: Peer) -> None:
    peer.sock.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")


@behaviour
def bad_gzip(peer: Peer) -> None:
    peer.head("200 OK", "text/event-stream", "Content-Encoding: gzip")
    stream(peer, b"this is not gzip")
    peer.end()


@behaviour
def endless_error(peer: Peer) -> None:
    """A status that says it all, with a body that does not end."""
    peer.head("503 Service Unavailable", "text/plain")
    while True:
        peer.wait(0)
        peer.send(b"x" * 65536)


@behaviour
def html(peer: Peer) -> None:
    peer.plain("200 OK", "text/html; charset=utf-8", "<html>please log in</html>")


@behaviour
def html_unlabelled(peer: Peer) -> None:
    peer.plain("200 OK", "text/plain", "<html>please log in</html>")


@behaviour
def json_answer(peer: Peer) -> None:
    message = {"role": "assistant", "content": "not streamed"}
    peer.plain("200 OK", "application/json", json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}))


@behaviour
def json_error(peer: Peer) -> None:
    peer.plain("200 OK", "application/json", json.dumps({"error": {"message": "no", "type": "invalid_model"}}))


@behaviour
def redirect(peer: Peer) -> None:
    peer.plain("307 Temporary Redirect", "text/plain", "", "Location: http://elsewhere.example/v1?key=hidden")


def _status(name: str, status: str, error: dict[str, object], *headers: str) -> None:
    def answer(peer: Peer) -> None:
        peer.plain(status, "application/json", json.dumps({"error": error}), *headers)

    BEHAVIOURS[name] = answer


_status("unauthorized", "401 Unauthorized", {"message": "bad key sk-hidden", "code": "invalid_api_key"})
_status("forbidden", "403 Forbidden", {"message": "no"})
_status("model_not_found", "404 Not Found", {"message": "The model is not here", "code": "model_not_found"})
_status("bad_request", "400 Bad Request", {"message": "no", "type": "invalid_request_error"})
_status("limited", "429 Too Many Requests", {"message": "slow down", "type": "rate_limit_exceeded"}, "Retry-After: 60")
_status("broken", "500 Internal Server Error", {"message": "oops"})
_status("gateway", "502 Bad Gateway", {"message": "oops"})

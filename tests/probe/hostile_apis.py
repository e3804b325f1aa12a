"""Behaviours of servers that speak Ollama's or Anthropic's API, or answer without a stream."""

import json
from collections.abc import Iterator

from hostile_peer import BEHAVIOURS, TOKENS, USAGE, Peer, behaviour, stream

NDJSON = "application/x-ndjson"
OLLAMA_END: dict[str, object] = {
    "done": True,
    "done_reason": "stop",
    "total_duration": 900_000_000,
    "load_duration": 500_000_000,
    "prompt_eval_count": 11,
    "prompt_eval_duration": 150_000_000,
    "eval_count": 5,
    "eval_duration": 250_000_000,
}


def line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def ollama(content: str, field: str = "content", **more: object) -> bytes:
    return line({"model": "m", "message": {"role": "assistant", field: content}, "done": False, **more})


OLLAMA_LAST = ollama("", **OLLAMA_END)


@behaviour
def ollama_good(peer: Peer) -> None:
    peer.head("200 OK", NDJSON)
    stream(peer, *map(ollama, TOKENS), OLLAMA_LAST)
    peer.end()


@behaviour
def ollama_thinking(peer: Peer) -> None:
    """Empty first, then two pieces of thinking, then the rest; no count of the prompt, since all of it was cached."""
    peer.head("200 OK", NDJSON)
    end = {key: value for key, value in OLLAMA_END.items() if not key.startswith("prompt")}
    stream(peer, ollama(""), *(ollama(text, "thinking") for text in TOKENS[:2]), *map(ollama, TOKENS[2:]))
    stream(peer, ollama("", **end))
    peer.end()


@behaviour
def ollama_cut_anywhere(peer: Peer) -> None:
    peer.head("200 OK", NDJSON)
    whole = b"".join([*map(ollama, ("é", "漢字", "🙂", "a\u2028b", "e")), OLLAMA_LAST])
    for start in range(0, len(whole), 3):
        peer.send(whole[start : start + 3])
        if start % 300 == 0:
            peer.wait(0.01)
    peer.end()


@behaviour
def ollama_no_last_line_end(peer: Peer) -> None:
    peer.head("200 OK", NDJSON)
    stream(peer, *map(ollama, TOKENS), OLLAMA_LAST.rstrip(b"\n"))
    peer.end()


@behaviour
def ollama_before_reasons(peer: Peer) -> None:
    """As before 0.3: the last line names no reason."""
    peer.head("200 OK", NDJSON)
    end = {key: value for key, value in OLLAMA_END.items() if key != "done_reason"}
    stream(peer, *map(ollama, TOKENS), ollama("", **end))
    peer.end()


@behaviour
def ollama_open_after_done(peer: Peer) -> None:
    peer.head("200 OK", NDJSON)
    stream(peer, *map(ollama, TOKENS), OLLAMA_LAST)
    peer.hold()


@behaviour
def ollama_truncated(peer: Peer) -> None:
    """Ends inside a line, which is no format error but an answer that just ended."""
    peer.head("200 OK", NDJSON)
    stream(peer, *map(ollama, TOKENS[:3]), ollama(TOKENS[3])[:20])
    peer.end()


@behaviour
def ollama_error_inside(peer: Peer) -> None:
    peer.head("200 OK", NDJSON)
    stream(peer, *map(ollama, TOKENS[:3]), line({"error": "secret prompt: out of memory"}))
    peer.end()


@behaviour
def ollama_no_model(peer: Peer) -> None:
    peer.plain("404 Not Found", "application/json", json.dumps({"error": "model 'the prompt' not found"}))


@behaviour
def ollama_not_json(peer: Peer) -> None:
    peer.head("200 OK", NDJSON)
    stream(peer, *map(ollama, TOKENS[:2]), b"{broken\n")
    peer.end()


@behaviour
def ollama_stall(peer: Peer) -> None:
    peer.head("200 OK", NDJSON)
    stream(peer, *map(ollama, TOKENS[:2]))
    peer.hold()


def event(kind: str, **more: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def delta(text: str, kind: str = "text_delta", field: str = "text") -> bytes:
    return event("content_block_delta", index=0, delta={"type": kind, field: text})


def anthropic(deltas: Iterator[bytes], reason: str = "end_turn") -> Iterator[bytes]:
    """An answer whose start guesses one output token, as the real one does."""
    usage = {"input_tokens": 4, "cache_read_input_tokens": 7, "output_tokens": 1}
    yield event("message_start", message={"role": "assistant", "content": [], "usage": usage})
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield event("ping")
    yield from deltas
    yield event("content_block_stop", index=0)
    yield event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 5})
    yield event("message_stop")


@behaviour
def anthropic_good(peer: Peer) -> None:
    peer.head()
    stream(peer, *anthropic(map(delta, TOKENS)))
    peer.end()


@behaviour
def anthropic_thinking(peer: Peer) -> None:
    """Thinking and its signature, which is no token, then a tool's input; ended by the limit."""
    peer.head()
    pieces = [delta("hm", "thinking_delta", "thinking"), delta("sig", "signature_delta", "signature")]
    pieces += [delta(text, "input_json_delta", "partial_json") for text in ("", '{"a":', "1}")]
    stream(peer, *anthropic(iter(pieces), "max_tokens"))
    peer.end()


@behaviour
def anthropic_overloaded(peer: Peer) -> None:
    peer.head()
    error = event("error", error={"type": "overloaded_error", "message": "secret prompt"})
    stream(peer, *[*anthropic(map(delta, TOKENS[:3]))][:6], error)
    peer.end()


@behaviour
def anthropic_truncated(peer: Peer) -> None:
    """Ends after three tokens; the one output token that the start guessed must not be taken for the count."""
    peer.head()
    stream(peer, *[*anthropic(map(delta, TOKENS))][:6])
    peer.end()


@behaviour
def anthropic_no_tokens(peer: Peer) -> None:
    peer.head()
    stream(peer, *anthropic(iter([])))
    peer.end()


@behaviour
def anthropic_refusal(peer: Peer) -> None:
    peer.head()
    stream(peer, *anthropic(map(delta, TOKENS[:2]), "refusal"))
    peer.end()


def _document(peer: Peer, value: object) -> None:
    peer.wait(0.1)
    peer.plain("200 OK", "application/json", json.dumps(value))


def chat_document(message: object, finish: str | None = "stop") -> dict[str, object]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": USAGE}


@behaviour
def document(peer: Peer) -> None:
    _document(peer, chat_document({"role": "assistant", "content": "one two three four five"}))


@behaviour
def document_without_usage(peer: Peer) -> None:
    _document(peer, chat_document({"role": "assistant", "content": "one two"}) | {"usage": None})


@behaviour
def document_legacy(peer: Peer) -> None:
    _document(peer, {"choices": [{"text": "one two", "finish_reason": "length"}], "usage": USAGE})


@behaviour
def document_ollama(peer: Peer) -> None:
    _document(peer, {"message": {"role": "assistant", "content": "one two"}, **OLLAMA_END})


@behaviour
def document_anthropic(peer: Peer) -> None:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "one two"}]
    usage = {"input_tokens": 11, "output_tokens": 5}
    _document(peer, {"type": "message", "content": content, "stop_reason": "end_turn", "usage": usage})


@behaviour
def document_unfinished(peer: Peer) -> None:
    _document(peer, chat_document({"role": "assistant", "content": "one"}, None))


@behaviour
def document_empty(peer: Peer) -> None:
    _document(peer, chat_document({"role": "assistant", "content": ""}))


@behaviour
def document_cut(peer: Peer) -> None:
    """Announces more bytes than it sends."""
    peer.chunked = False
    peer.head("200 OK", "application/json", "Content-Length: 500")
    peer.sock.sendall(b'{"choices": [')


@behaviour
def document_broken(peer: Peer) -> None:
    peer.plain("200 OK", "application/json", '{"choices": [')


@behaviour
def document_error(peer: Peer) -> None:
    _document(peer, {"error": {"message": "secret prompt", "code": "overloaded"}})


@behaviour
def document_as_stream(peer: Peer) -> None:
    """Streams though it was asked not to."""
    BEHAVIOURS["good"](peer)

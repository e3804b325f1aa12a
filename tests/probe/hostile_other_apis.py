"""Odd streams of our own that only one API can say: Anthropic's, Ollama's, Responses', TGI's, llama.cpp's."""

from dataclasses import replace

from hostile_dialects import Anthropic, LlamaCpp, Ollama, Responses, Tgi, data
from hostile_script import NOTHING, STEP, THREE, WORDS, Facts, Steps, ended, stream, tokens, whole


def _of(api: str, name: str, pieces: list[bytes], end: tuple[bytes, ...], facts: Facts, start: bytes = b"") -> None:
    """The start at 0.1 s, each piece from 0.3 s every 20 ms, the end at 0.5 s."""

    def script(_: object) -> Steps:
        yield 0.1, start
        for number, piece in enumerate(pieces):
            yield 0.3 + number * STEP, piece
        yield from ended(end)

    script.__name__ = name
    stream([api], facts)(script)


# Anthropic
say = Anthropic()
TEXTS = [say.text(word) for word in WORDS]


def _anthropic(name: str, pieces: list[bytes], facts: Facts, reason: str = "stop", output: int | None = 10) -> None:
    _of("anthropic", f"anthropic_{name}", pieces, say.end(reason, output), facts, say.start())


def _anthropic_ends(name: str, reason: object, facts: Facts) -> None:
    last = say.event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 10})
    _of("anthropic", f"anthropic_{name}", TEXTS, (last, say.event("message_stop")), facts, say.start())


_anthropic(
    "thinking_and_signature",
    [say.reasoning(word) for word in WORDS[:5]]
    + [say.block_delta("signature_delta", signature="x" * 300)]
    + [say.text(word) for word in WORDS[5:9]],
    # Nine tokens from 0.3 s to 0.48 s; the signature is none.
    Facts(output=9, source="chunks", tpot=0.18 / 8, text="".join(WORDS[5:9])),
    output=None,
)
_anthropic(
    "signature_first",
    [say.block_delta("signature_delta", signature="x"), *TEXTS[:9]],
    Facts(output=9, source="chunks", ttft=0.32, tpot=0.16 / 8, text="".join(WORDS[:9])),
    output=None,
)
_anthropic(
    "citations",
    [*TEXTS[:9], say.block_delta("citations_delta", citation={"cited_text": "x"})],
    Facts(output=9, source="chunks", e2e=0.46, tpot=0.16 / 8, text="".join(WORDS[:9])),
    output=None,
)
_anthropic(
    "deltas_to_come",
    [*TEXTS[:9], say.block_delta("hologram_delta", hologram="x")],
    Facts(e2e=0.46, tpot=0.16 / 9, text="".join(WORDS[:9])),
)
_anthropic(
    "events_to_come",
    [say.event("message_mood", mood="good"), *TEXTS[:9]],
    Facts(ttft=0.32, tpot=0.16 / 9, text="".join(WORDS[:9])),
)
_anthropic(
    "text_in_the_block",
    [say.event("content_block_start", content_block={"type": "text", "text": w}) for w in WORDS],
    Facts(),
)
_anthropic(
    "broken_deltas",
    [say.event("content_block_delta", delta=delta) for delta in (None, 7, [], {"type": 7}, {"type": []})],
    Facts("no_tokens", ttft=None, e2e=None, tpot=None, text=""),
)
_anthropic_ends("stop_sequence", "stop_sequence", Facts())
_anthropic_ends("refusal", "refusal", Facts("finish_reason", finish="content_filter"))
_anthropic_ends("pause_turn", "pause_turn", Facts("finish_reason", finish="pause_turn"))
_anthropic_ends(
    "window_exceeded", "model_context_window_exceeded", Facts("finish_reason", finish="model_context_window_exceeded")
)
_anthropic_ends("no_reason", None, Facts("truncated", finish=None))
_anthropic_ends("reason_is_an_object", {"x": 1}, Facts("finish_reason", finish="other"))


@stream(["anthropic"], replace(NOTHING, outcome="stream_error", ttfr=0.1))
def anthropic_overloaded_at_once(say: Anthropic) -> Steps:
    yield 0.1, say.event("error", error={"type": "overloaded_error", "message": "secret prompt"})


@stream(["anthropic"], Facts(ttfr=0.1))
def anthropic_pings(say: Anthropic) -> Steps:
    yield 0.1, say.start()
    for number, word in enumerate(WORDS):
        yield 0.2 + number * STEP, say.event("ping")
        yield 0.3 + number * STEP, say.text(word)
    yield from ended(say.end("stop", 10))


# Ollama
ollama = Ollama()


def _ollama(name: str, end: dict[str, object], facts: Facts) -> None:
    last = ollama.message({"role": "assistant", "content": ""}, **end)
    _of("ollama", f"ollama_{name}", [ollama.text(word) for word in WORDS], (last,), facts)


COUNTS: dict[str, object] = {"done": True, "prompt_eval_count": 11, "eval_count": 10}
_ollama("before_reasons", COUNTS, Facts())
_ollama("length", COUNTS | {"done_reason": "length"}, Facts(finish="length"))
_ollama("loaded", COUNTS | {"done_reason": "load"}, Facts("finish_reason", finish="load"))
_ollama(
    "done_is_text", COUNTS | {"done": "true", "done_reason": "stop"}, Facts("truncated", source="chunks", finish=None)
)
_ollama("absurd_durations", COUNTS | {"eval_duration": 10**400, "load_duration": -1, "total_duration": "x"}, Facts())


@stream(["ollama"], Facts(text=""))
def ollama_calls(say: Ollama) -> Steps:
    for number in range(10):
        yield 0.3 + number * STEP, say.call("clock", '{"zone": "UTC"}')
    yield from ended(say.end("tool_calls", 10))


@stream(["ollama"], Facts("truncated", source="chunks", finish=None))
def ollama_never_done(say: Ollama) -> Steps:
    yield from tokens(say)


@stream(["ollama"], Facts(e2e=0.5, tpot=0.2 / 10, output=11, text="".join((*WORDS, " w10"))))
def ollama_token_in_the_last_line(say: Ollama) -> Steps:
    yield from tokens(say)
    counts = COUNTS | {"done_reason": "stop", "eval_count": 11}
    yield 0.5, say.message({"role": "assistant", "content": " w10"}, **counts)


# Responses
responses = Responses()


def _responses(name: str, deltas: list[bytes], last: dict[str, object], facts: Facts) -> None:
    _of("openai-responses", f"responses_{name}", deltas, (data(last),), facts, responses.start())


def _response(status: str, **more: object) -> dict[str, object]:
    usage = {"input_tokens": 11, "output_tokens": 10}
    return {"type": f"response.{status}", "response": {"status": status, "usage": usage, "output": [], **more}}


DELTAS = [responses.text(word) for word in WORDS]
COMPLETED = _response("completed")
_responses(
    "summary",
    [responses.event("response.reasoning_summary_text.delta", delta=w) for w in WORDS],
    COMPLETED,
    Facts(text=""),
)
for kind in ("custom_tool_call_input", "mcp_call_arguments", "code_interpreter_call_code"):
    _responses(kind, [responses.event(f"response.{kind}.delta", delta=w) for w in WORDS], COMPLETED, Facts(text=""))
_responses("refusal", [responses.event("response.refusal.delta", delta=w) for w in WORDS], COMPLETED, Facts(text=""))
_responses(
    "filtered",
    DELTAS,
    _response("incomplete", incomplete_details={"reason": "content_filter"}),
    Facts("finish_reason", finish="content_filter"),
)
_responses(
    "incomplete_for_nothing",
    DELTAS,
    _response("incomplete", incomplete_details=None),
    Facts("finish_reason", finish="other"),
)
_responses("cancelled", DELTAS, _response("cancelled"), Facts("truncated", source="chunks", finish=None))
_responses("failed", DELTAS, _response("failed", error=None), Facts("stream_error", finish=None))
_responses(
    "error_event",
    DELTAS,
    {"type": "error", "code": "server_error", "message": "secret prompt"},
    Facts("stream_error", source="chunks", finish=None),
)
_responses(
    "framing_alone",
    [
        responses.event("response.in_progress", response={}),
        responses.event("response.output_item.added", item={"type": "message"}),
        responses.event("response.content_part.added", part={"type": "output_text", "text": ""}),
        responses.event("response.output_text.done", text="never streamed"),
    ],
    COMPLETED,
    Facts("no_tokens", ttft=None, e2e=None, tpot=None, text=""),
)
_responses(
    "broken_deltas",
    [responses.event("response.output_text.delta", delta=d) for d in (None, 7, [], "")],
    COMPLETED,
    Facts("no_tokens", ttft=None, e2e=None, tpot=None, text=""),
)


# TGI
tgi = Tgi()


def _tgi(name: str, pieces: list[bytes], details: object, facts: Facts) -> None:
    last = tgi.token("</s>", special=True, generated_text="again", details=details)
    _of("tgi", f"tgi_{name}", pieces, (last,), facts)


TGI_COUNTS = {"generated_tokens": 10, "input_length": 11, "seed": None}
TGI_TEXTS = [tgi.token(word) for word in WORDS]
_tgi("stop_sequence", TGI_TEXTS, TGI_COUNTS | {"finish_reason": "stop_sequence"}, Facts())
_tgi(
    "special_inside",
    [tgi.token("<|x|>", special=True), *TGI_TEXTS[:9]],
    TGI_COUNTS | {"finish_reason": "length"},
    Facts(finish="length", ttfr_bare=0.3, ttft=0.32, tpot=0.16 / 9, text="".join(WORDS[:9])),
)
_tgi("no_details", TGI_TEXTS, None, Facts(source="chunks"))
_tgi("no_reason", TGI_TEXTS, TGI_COUNTS, Facts())
_tgi("prefill_listed", TGI_TEXTS, {"generated_tokens": 10, "prefill": [{}] * 11, "finish_reason": "eos_token"}, Facts())


@stream(["tgi"], Facts(finish="length"))
def tgi_ended_by_its_last_token(_: Tgi) -> Steps:
    yield from tokens(tgi, WORDS[:9])
    yield 0.48, tgi.token(WORDS[9], generated_text="again", details=TGI_COUNTS | {"finish_reason": "length"})


# llama.cpp
def _llamacpp(name: str, end: dict[str, object], facts: Facts) -> None:
    def script(say: LlamaCpp) -> Steps:
        yield from tokens(say)
        yield 0.5, say.event("", stop=True, **end)

    script.__name__ = f"llamacpp_{name}"
    stream(["llamacpp"], facts)(script)


_llamacpp("stop_word", {"stop_type": "word"}, Facts())
_llamacpp("stop_none", {"stop_type": "none"}, Facts("finish_reason", finish="other"))
_llamacpp(
    "before_stop_types", {"stopped_eos": False, "stopped_word": False, "stopped_limit": True}, Facts(finish="length")
)
_llamacpp("no_stop_type", {}, Facts("finish_reason", finish="other"))
_llamacpp("stop_type_is_a_number", {"stop_type": 7}, Facts("finish_reason", finish="other"))


@stream(["llamacpp"], replace(THREE, outcome="truncated", source="usage"))
def llamacpp_never_stops(say: LlamaCpp) -> Steps:
    yield from tokens(say, WORDS[:3])


@stream(["llamacpp"], Facts(output=17, tpot=0.18 / 9))
def llamacpp_bundled_first(say: LlamaCpp) -> Steps:
    for number, word in enumerate(WORDS):
        yield 0.3 + number * STEP, say.text(word, 1 if number else 8)
    yield from ended(say.end("stop", 17))


@stream(["llamacpp"], Facts(ttfr_bare=0.1))
def llamacpp_progress_first(say: LlamaCpp) -> Steps:
    yield 0.1, say.event("", prompt_progress={"total": 11, "processed": 4})
    yield from whole(say)

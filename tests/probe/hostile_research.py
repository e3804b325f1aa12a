"""The 35 streams that ten benchmark tools were given, in every API that can say them; most tools get several wrong.

A role alone at 0.1 s, ten tokens from 0.3 s every 20 ms, the end at 0.5 s, unless a stream says otherwise.
"""

import json
from dataclasses import replace

from hostile_dialects import DIALECTS, SSE, Dialect, data
from hostile_script import END, NOTHING, STEP, THREE, WORDS, Facts, Steps, cut, each, ended, stream, tokens, whole

OPENAI = ("openai-chat", "openai-completions")
STARTING = tuple(api for api, kind in DIALECTS.items() if kind.starts)
REASONING = tuple(api for api, kind in DIALECTS.items() if kind.reasons)
COUNTED = {"llamacpp": {"source": "usage"}}
LATER = Facts(ttfr=0.11, ttft=0.31, e2e=0.49)
ODD_WORDS = ("\u00e9", "\u6f22\u5b57", "\U0001f642", *WORDS[3:])


@stream(DIALECTS, Facts())
def base(say: Dialect) -> Steps:
    return whole(say)


@stream([api for api in DIALECTS if api != "llamacpp"], Facts(source="chunks"))
def no_usage(say: Dialect) -> Steps:
    return whole(say, None)


@stream(SSE, Facts())
def comments(say: Dialect) -> Steps:
    yield 0.02, b": OPENROUTER PROCESSING\n\n"
    yield 0.05, b":\n\n"
    yield from whole(say)


@stream(SSE, Facts())
def ping_mid(say: Dialect) -> Steps:
    for number, (at, piece) in enumerate(whole(say)):
        yield at, piece
        if number == 5:
            yield at + 0.01, b": ping\n\n"


def _reasoned(say: Dialect, reasoning: list[bytes]) -> Steps:
    """Ten pieces of reasoning from 0.2 s, five of the answer from 0.42 s to 0.5 s, the end after it."""
    yield 0.1, say.start()
    for number, piece in enumerate(reasoning):
        yield 0.2 + number * STEP, piece
    yield from tokens(say, WORDS[:5], first=0.42)
    yield from ended(say.end("stop", 15), 0.52)


# 15 tokens, one of them in the first event: (0.5 - 0.2) / 14.
REASONED = Facts(output=15, ttft=0.2, e2e=0.5, tpot=0.3 / 14, text="".join(WORDS[:5]))


@stream(["openai-chat"], REASONED)
def reasoning_content(say: Dialect) -> Steps:
    return _reasoned(say, [say.delta({"reasoning_content": word}) for word in WORDS])


@stream(REASONING, REASONED)
def reasoning(say: Dialect) -> Steps:
    return _reasoned(say, [say.reasoning(word) for word in WORDS])


@stream(REASONING, Facts(finish="length", ttft=0.2, e2e=0.38, text=""))
def reasoning_only(say: Dialect) -> Steps:
    yield 0.1, say.start()
    for number, word in enumerate(WORDS):
        yield 0.2 + number * STEP, say.reasoning(word)
    yield from ended(say.end("length", 10), 0.4)


@stream(["openai-chat", "openai-responses", "anthropic"], Facts(finish="tool_calls", text=""))
def tool_only(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield 0.3, say.call("clock", "")
    for number in range(1, 10):
        yield 0.3 + number * STEP, say.call("", f"{number}")
    yield from ended(say.end("tool_calls", 10))


@stream(DIALECTS, Facts())
def crlf(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: piece.replace(b"\n", b"\r\n"))


@stream(DIALECTS, Facts(ttfr=0.3, e2e=0.3, tpot=None, buffered=True))
def crlf_coalesced(say: Dialect) -> Steps:
    yield 0.3, b"".join(piece for _, piece in whole(say)).replace(b"\n", b"\r\n")


@stream(SSE, Facts())
def nospace(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: piece.replace(b"data: ", b"data:").replace(b"event: ", b"event:"))


@stream(DIALECTS, LATER)
def split(say: Dialect) -> Steps:
    return cut(whole(say), lambda piece: len(piece) // 2)


@stream(DIALECTS, Facts(ttft=0.31, e2e=0.49))
def split_at_blank(say: Dialect) -> Steps:
    """Cut before the blank that a token begins with, where `strip()` of each read loses it."""
    return cut(whole(say), lambda piece: piece.find(b'" w') + 1)


@stream(DIALECTS, Facts(ttft=0.31, text="".join(ODD_WORDS), tpot=0.17 / 9))
def utf8_split(say: Dialect) -> Steps:
    """Cut inside a character; only the first three tokens hold one, so that the last is not late."""
    return cut(
        whole(say, words=ODD_WORDS), lambda piece: next((i + 1 for i, byte in enumerate(piece) if byte > 127), 0)
    )


SEPARATORS = ("a\u2028b", "\u2029", "c\u0085d", *WORDS[3:])


@stream(DIALECTS, Facts(text="".join(SEPARATORS)))
def u2028(say: Dialect) -> Steps:
    return whole(say, words=SEPARATORS)


@stream(DIALECTS, replace(NOTHING, outcome="stream_error", ttfr=0.3, ttfr_bare=0.3))
def err_first(say: Dialect) -> Steps:
    yield 0.3, say.error()


@stream(DIALECTS, replace(THREE, outcome="stream_error"), COUNTED)
def err_mid(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:3])
    yield 0.36, say.error()


@stream(SSE, replace(NOTHING, outcome="stream_error", ttfr=0.3, ttfr_bare=0.3))
def err_event(_: Dialect) -> Steps:
    yield 0.3, b"event: error\ndata: it broke\n\n"


@stream(DIALECTS, replace(THREE, outcome="connection_lost"), COUNTED, broken=True)
def truncated_abrupt(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:3])


@stream(DIALECTS, replace(THREE, outcome="truncated"), COUNTED)
def truncated_clean(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:3])


@stream((*OPENAI, "anthropic"), Facts())
def no_done(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say)
    yield from ended(say.end("stop", 10)[:-1])


@stream(OPENAI, Facts(ttfr=0.05, ttfr_bare=0.05))
def azure_first(say: Dialect) -> Steps:
    yield 0.05, data({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]})
    yield from whole(say)


# The tokens come in pairs, the last pair at 0.46 s.
@stream(DIALECTS, Facts(e2e=0.46, tpot=0.16 / 9))
def coalesced(say: Dialect) -> Steps:
    yield 0.1, say.start()
    for number in range(0, 10, 2):
        yield 0.3 + number * STEP, say.text(WORDS[number]) + say.text(WORDS[number + 1])
    yield from ended(say.end("stop", 10))


@stream(DIALECTS, Facts(ttfr=0.48, ttft=0.48, tpot=None, buffered=True))
def all_at_once(say: Dialect) -> Steps:
    yield 0.48, b"".join(piece for _, piece in whole(say))


# 40 tokens, of which nobody says how many came with the first event, except llama.cpp.
@stream(DIALECTS, Facts(output=40, tpot=0.18 / 39), {"llamacpp": {"tpot": 0.18 / 36}})
def multi_token(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say, each=4)
    yield from ended(say.end("stop", 40))


def _running(say: Dialect, counts: list[int]) -> Steps:
    """Each event says how many tokens there are so far."""
    yield 0.1, say.start()
    for number, (word, count) in enumerate(zip(WORDS, counts, strict=True)):
        choice = {"delta": {"content": word}} if say.api == "openai-chat" else {"text": word}
        yield 0.3 + number * STEP, data({"choices": [choice], "usage": say.usage(count)})


@stream(OPENAI, Facts(output=40, tpot=0.18 / 36))
def cont_usage(say: Dialect) -> Steps:
    yield from _running(say, [4 * number for number in range(1, 11)])
    yield from ended(say.end("stop", 40))


@stream(OPENAI, Facts(output=40, tpot=0.18 / 39))
def usage_in_finish(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say)
    yield 0.5, data({"choices": [{"delta": {}, "text": "", "finish_reason": "stop"}], "usage": say.usage(40)})
    yield 0.5, b"data: [DONE]\n\n"


@stream(DIALECTS, replace(NOTHING, outcome="no_tokens", finish="stop", ttfr=0.1, ttfr_bare=0.5))
def empty(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from ended(say.end("stop", 0 if say.counts else None))


@stream(SSE, Facts(ttfr_bare=0.2))
def event_ping(say: Dialect) -> Steps:
    for number, (at, piece) in enumerate(whole(say)):
        if number in (1, 5):
            yield 0.2 if number == 1 else at, data({"type": "ping"}, "ping")
        yield at, piece


@stream(["openai-chat"], Facts())
def delta_null(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say)
    yield 0.5, say.delta(None, "stop")
    yield from ended(say.end("stop", 10)[1:])


@stream(DIALECTS, Facts(tail=1.02))
def slow_done(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say)
    *before, last = say.end("stop", 10)
    yield from ended(before)
    yield END + 1, last


@stream(DIALECTS, Facts(ttfr_bare=0.15))
def empty_delta_first(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield 0.15, say.empty()
    yield 0.2, say.empty()
    yield from tokens(say)
    yield from ended(say.end("stop", 10))


NO_ANSWER = replace(NOTHING, ttfr=None, ttfr_bare=None)


@stream(DIALECTS, replace(NO_ANSWER, outcome="stream_error"), own_type=False)
def json200(say: Dialect) -> Steps:
    yield 0.3, json.dumps(say.error_document()).encode()


@stream(
    DIALECTS,
    replace(NO_ANSWER, outcome="rate_limited", status=429),
    own_type=False,
    status="429 Too Many Requests",
)
def http429(say: Dialect) -> Steps:
    yield 0.3, json.dumps(say.error_document()).encode()


@stream(DIALECTS, Facts(), encoding="gzip")
def gzip(say: Dialect) -> Steps:
    return whole(say)

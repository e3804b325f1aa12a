"""Odd counts, ends and errors of our own, mostly in OpenAI's chat completions: the framing is right."""

from dataclasses import replace

from hostile_dialects import DIALECTS, Dialect, data
from hostile_research import OPENAI
from hostile_script import STEP, THREE, WORDS, Facts, Steps, each, ended, stream, tokens, whole

from inferwatch.config.ends import IN_OPENAI_WORDS

CHAT = ["openai-chat"]
ABSURD = 10**400


def _ended_by(say: Dialect, *last: bytes) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say)
    yield from ended(last)


# How the counts come


@stream(OPENAI, Facts())
def usage_null_elsewhere(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: piece.replace(b"}]}", b'}], "usage": null}'))


@stream(OPENAI, Facts(source="chunks"))
def usage_zero(say: Dialect) -> Steps:
    return _ended_by(say, *say.end("stop", 0))


@stream(OPENAI, Facts(source="chunks"))
def usage_absurd(say: Dialect) -> Steps:
    """A count of four hundred digits is no count, and must not reach arithmetic."""
    return _ended_by(say, *say.end("stop", ABSURD))


@stream(OPENAI, Facts(source="chunks"))
def usage_not_a_number(say: Dialect) -> Steps:
    return _ended_by(
        say, *(piece.replace(b'"completion_tokens": 10', b'"completion_tokens": NaN') for piece in say.end("stop", 10))
    )


@stream(CHAT, Facts())
def usage_before_the_reason(say: Dialect) -> Steps:
    finish, usage, done = say.end("stop", 10)
    return _ended_by(say, usage, finish, done)


@stream(CHAT, Facts(output=17, tpot=0.18 / 9))
def bundled_first(say: Dialect) -> Steps:
    """Eight tokens in the first event, as the running count tells, and one in each of the others (aiperf#1279)."""
    yield 0.1, say.start()
    for number, word in enumerate(WORDS):
        usage = {"prompt_tokens": 11, "completion_tokens": 8 + number}
        yield 0.3 + number * STEP, say.delta({"content": word}, usage=usage)
    yield from ended(say.end("stop", 17))


@stream(CHAT, Facts(output=40, tpot=0.18 / 36))
def running_count_that_is_none(say: Dialect) -> Steps:
    """Each event counts itself alone (vllm#9357); what the end says is the count."""
    yield 0.1, say.start()
    for number, word in enumerate(WORDS):
        yield 0.3 + number * STEP, say.delta({"content": word}, usage={"prompt_tokens": 11, "completion_tokens": 4})
    yield from ended(say.end("stop", 40))


@stream(CHAT, Facts(output=3, e2e=0.34, text=" w0 w1 w2"))
def shorter_than_asked(say: Dialect) -> Steps:
    """Three tokens of the 64 that were asked for, which nobody may be credited with."""
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:3])
    yield from ended(say.end("stop", 3))


@stream(CHAT, Facts(output=1, e2e=0.3, tpot=None, text=" w0"))
def one_token(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:1])
    yield from ended(say.end("stop", 1))


@stream(CHAT, Facts(output=40, e2e=0.3, tpot=None, buffered=True, text="all of it"))
def all_in_one_event(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say, ("all of it",))
    yield from ended(say.end("stop", 40))


def _counted(name: str, facts: Facts, reasoning: int = 0, **usage: object) -> None:
    """Ten tokens, the first `reasoning` of them as reasoning, and these counts."""

    def script(say: Dialect) -> Steps:
        yield 0.1, say.start()
        for number, word in enumerate(WORDS):
            yield 0.3 + number * STEP, say.reasoning(word) if number < reasoning else say.text(word)
        reason, _, done = say.end("stop", 10)
        yield from ended((reason, data({"choices": [], "usage": {"prompt_tokens": 11, **usage}}), done))

    script.__name__ = f"usage_{name}"
    stream(CHAT, facts)(script)


SHOWN = Facts(output=319, tpot=0.18 / 318, text=WORDS[9])
HIDDEN = Facts(output=310)
THOUGHT = {"completion_tokens_details": {"reasoning_tokens": 317}}
HELD = {"prompt_tokens": 1, "completion_tokens": 10, "total_tokens": 21}
# xAI: the completion is the answer alone.
_counted("without_shown_reasoning", SHOWN, 9, completion_tokens=2, total_tokens=330, **THOUGHT)
_counted("without_shown_reasoning_or_details", SHOWN, 9, completion_tokens=2, total_tokens=330)
_counted("of_reasoning_alone", SHOWN, 9, completion_tokens=0, total_tokens=330, **THOUGHT)
# What is counted and not shown came before the first event: Gemini leaves it out of the completion, OpenAI does not.
_counted("without_hidden_reasoning", HIDDEN, completion_tokens=10, total_tokens=321)
_counted("with_hidden_reasoning", HIDDEN, completion_tokens=310, completion_tokens_details={"reasoning_tokens": 300})
_counted(
    "with_reasoning_in_the_content", Facts(), completion_tokens=10, completion_tokens_details={"reasoning_tokens": 6}
)
# Gateways to Bedrock: the total has what the cache held, and the prompt has not.
_counted("without_what_was_cached", Facts(), cache_read_input_tokens=10, **HELD)
_counted("without_what_was_put_into_the_cache", Facts(), cache_creation_input_tokens=10, **HELD)
_counted("without_both", Facts(), cache_read_input_tokens=4, cache_creation_input_tokens=6, **HELD)
_counted("with_a_total_that_is_too_small", Facts(), completion_tokens=10, total_tokens=5)


# How it ends


def _finished(name: str, reason: object, facts: Facts) -> None:
    def script(say: Dialect) -> Steps:
        _, usage, done = say.end("stop", 10)
        return _ended_by(say, say.delta({}, reason), usage, done)

    script.__name__ = f"finish_{name}"
    stream(CHAT, facts)(script)


REFUSED = "finish_reason"
_finished("length", "length", Facts(finish="length"))
_finished("content_filter", "content_filter", Facts(REFUSED, finish="content_filter"))
_finished("abort", "abort", Facts(REFUSED, finish="abort"))
_finished("error", "error", Facts(REFUSED, finish="error"))
# Other servers' words behind the same API: TGI's, Anthropic's behind a gateway.
for _word, _told in IN_OPENAI_WORDS["openai-chat"].items():
    _finished(_word, _word, Facts(finish=_told))
_finished("other_word", "eos_reached", Facts(REFUSED, finish="eos_reached"))
_finished("sentence", "stopped because of\nthe prompt", Facts(REFUSED, finish="other"))
_finished("number", 7, Facts(REFUSED, finish="other"))
_finished("object", {"type": "stop"}, Facts(REFUSED, finish="other"))
_finished("null", None, Facts("truncated", finish=None))
_finished("empty", "", Facts("truncated", finish=None))


@stream(OPENAI, Facts())
def finish_empty_elsewhere(say: Dialect) -> Steps:
    """ "" in every event until the last, as sglang#3912 and ollama#4357 show."""
    return each(whole(say), lambda piece: piece.replace(b'"finish_reason": null', b'"finish_reason": ""'))


@stream(OPENAI, Facts())
def finish_missing_elsewhere(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: piece.replace(b', "finish_reason": null', b""))


@stream(CHAT, Facts(source="chunks"))
def finish_with_the_last_token(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:9])
    yield 0.48, say.delta({"content": WORDS[9]}, "stop")
    yield 0.5, b"data: [DONE]\n\n"


@stream(CHAT, Facts(source="chunks"))
def nothing_after_the_reason(say: Dialect) -> Steps:
    return _ended_by(say, say.delta({}, "stop"))


@stream(CHAT, Facts(output=11, source="chunks", e2e=0.5, tpot=0.2 / 10, text="".join((*WORDS, " late"))))
def token_after_the_reason(say: Dialect) -> Steps:
    return _ended_by(say, say.delta({}, "stop"), say.text(" late"), b"data: [DONE]\n\n")


@stream(CHAT, Facts(output=11, source="chunks", e2e=0.7, tpot=0.4 / 10, finish="length", text="".join((*WORDS, " on"))))
def two_reasons(say: Dialect) -> Steps:
    """The last one is the reason."""
    yield from _ended_by(say, say.delta({}, "stop"))
    yield 0.7, say.text(" on")
    yield 0.8, say.delta({}, "length")


@stream(CHAT, replace(THREE, outcome="truncated"))
def done_without_a_reason(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:3])
    yield 0.36, b"data: [DONE]\n\n"


# Each tells an end of its own, after which nothing is read.
@stream(DIALECTS, Facts())
def error_after_the_end(say: Dialect) -> Steps:
    yield from whole(say)
    yield 0.6, say.error()


@stream((*OPENAI, "anthropic"), Facts("stream_error", source="chunks"))
def error_after_the_reason(say: Dialect) -> Steps:
    reason = say.end("stop", None)[-2]
    return _ended_by(say, reason, say.error())


# How an error is told


def _failed(name: str, error: object) -> None:
    def script(say: Dialect) -> Steps:
        yield 0.1, say.start()
        yield from tokens(say, WORDS[:3])
        yield 0.36, data(error)

    script.__name__ = f"error_as_{name}"
    stream(CHAT, replace(THREE, outcome="stream_error"))(script)


_failed("text", {"error": "secret prompt"})
_failed("list", {"error": [{"message": "secret prompt"}]})
_failed("number", {"error": 500})
_failed("object_kind", {"object": "error", "message": "secret prompt", "code": 500})
_failed("type", {"type": "error", "message": "secret prompt"})
_failed("choice_beside", {"choices": [{"delta": {"content": " w3"}}], "error": {"code": "internal"}})


@stream(CHAT, Facts())
def error_null_everywhere(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: piece.replace(b'{"id"', b'{"error": null, "id"'))


@stream(CHAT, Facts())
def error_empty_everywhere(say: Dialect) -> Steps:
    return each(whole(say), lambda piece: piece.replace(b'{"id"', b'{"error": "", "id"'))

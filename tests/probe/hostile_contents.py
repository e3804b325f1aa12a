"""Odd tokens and times of our own, mostly in OpenAI's chat completions: what counts as a token, and when it comes."""

from dataclasses import replace

from hostile_dialects import DIALECTS, Dialect, data
from hostile_script import NOTHING, STEP, WORDS, Facts, Steps, ended, stream, tokens, whole

CHAT = ["openai-chat"]


# What a token is


def _nested(levels: int) -> object:
    return [{"text": _nested(levels - 1)}] if levels else "deep"


def _told(name: str, deltas: list[object], facts: Facts) -> None:
    """Each delta is an event, from 0.3 s every 20 ms; the end at 0.5 s counts ten tokens."""

    def script(say: Dialect) -> Steps:
        yield 0.1, say.start()
        for number, delta in enumerate(deltas):
            yield 0.3 + number * STEP, say.delta(delta)
        yield from ended(say.end("stop", 10))

    script.__name__ = name
    stream(CHAT, facts)(script)


_told("parts", [{"content": [{"type": "text", "text": word}]} for word in WORDS], Facts())
_told(
    "details_of_reasoning",
    [{"reasoning_details": [{"type": "reasoning.text", "text": w}]} for w in WORDS],
    Facts(text=""),
)
_told("summary_of_reasoning", [{"reasoning_details": [{"summary": w}]} for w in WORDS], Facts(text=""))
_told(
    "reasoning_three_times",
    [{"content": "", "reasoning": w, "reasoning_content": w, "reasoning_details": [{"text": w}]} for w in WORDS],
    Facts(text=""),
)
_told("content_and_reasoning", [{"content": word, "reasoning_content": "hm"} for word in WORDS], Facts())
_told("refusal", [{"content": None, "refusal": word} for word in WORDS], Facts(text=""))
_told("old_function_call", [{"function_call": {"arguments": word}} for word in WORDS], Facts(text=""))
_told("custom_tool", [{"tool_calls": [{"custom": {"name": "sql", "input": word}}]} for word in WORDS], Facts(text=""))
_told("blanks", [{"content": " "}, {"content": "\n"}] * 5, Facts(text=" \n" * 5))
_told("controls", [{"content": f"\0\x1b{word}"} for word in WORDS], Facts(text="".join(f"\0\x1b{w}" for w in WORDS)))
_told(
    "audio_alone",
    [{"audio": {"data": "AAAA"}} for _ in WORDS],
    Facts("no_tokens", ttfr=0.1, ttft=None, e2e=None, tpot=None, text=""),
)
_told(
    "nonsense",
    [{"content": 7}, {"content": {"a": 1}}, {"content": True}, {"tool_calls": [7, {"function": 7}]}],
    Facts("no_tokens", ttft=None, e2e=None, tpot=None, text=""),
)
_told("parts_in_parts", [{"content": _nested(300)}], Facts("no_tokens", ttft=None, e2e=None, tpot=None, text=""))
_told("no_delta", [7, "text", [], None], Facts("no_tokens", ttft=None, e2e=None, tpot=None, text=""))


@stream(CHAT, Facts(output=2, finish="tool_calls", e2e=0.32, text=""))
def calls_at_one_index(say: Dialect) -> Steps:
    """Ollama's endpoint for OpenAI gives each call the index 0 and an id of its own."""
    yield 0.1, say.start()
    for number, name in enumerate(("weather", "clock")):
        function = {"name": name, "arguments": "{}"}
        yield 0.3 + number * STEP, say.delta({"tool_calls": [{"index": 0, "id": name, "function": function}]})
    yield from ended(say.end("tool_calls", 2))


@stream(CHAT, Facts(text="".join((*WORDS[:8], "\U0001f642"))))
def split_surrogates(say: Dialect) -> Steps:
    """A character beyond U+FFFF in two escapes, which two events share; alone, neither can be encoded."""
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:8])
    yield 0.46, data({"choices": [{"delta": {"content": "@"}}]}).replace(b"@", b"\\ud83d")
    yield 0.48, data({"choices": [{"delta": {"content": "@"}}]}).replace(b"@", b"\\ude42")
    yield from ended(say.end("stop", 10))


@stream(CHAT, Facts(text=" w0 w0 w1 w1 w2 w2 w3 w3 w4 w4"))
def two_choices(say: Dialect) -> Steps:
    yield 0.1, say.start()
    for number in range(10):
        choice = {"index": number % 2, "delta": {"content": WORDS[number // 2]}}
        yield 0.3 + number * STEP, data({"choices": [choice]})
    yield from ended(say.end("stop", 10))


@stream(CHAT, Facts(ttfr=0.1))
def progress_first(say: Dialect) -> Steps:
    """llama.cpp tells how far the prompt is, on request."""
    yield 0.1, data({"choices": [], "prompt_progress": {"total": 11, "processed": 4, "time_ms": 50}})
    yield from whole(say)


@stream(CHAT, Facts(ttfr=0.05))
def keepalive_as_json(say: Dialect) -> Steps:
    yield 0.05, data({"type": "keepalive"})
    yield from whole(say)


@stream(CHAT, Facts(ttfr=0.05))
def log_probabilities_alone(say: Dialect) -> Steps:
    yield 0.05, data({"choices": [{"delta": {"content": ""}, "logprobs": {"content": []}}]})
    yield from whole(say)


@stream(CHAT, replace(NOTHING, outcome="no_tokens"))
def nothing_known(_: Dialect) -> Steps:
    for number in range(5):
        yield 0.1 + number * STEP, data({"a": number})


@stream(CHAT, Facts("stream_error", output=None, source=None, finish=None, ttft=None, e2e=None, tpot=None, text=""))
def choice_is_no_object(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield 0.3, data({"choices": [7]})


# When it comes


@stream(CHAT, Facts(ttfr=0.9, ttft=2.2, e2e=2.38))
def role_after_the_first_prefill(say: Dialect) -> Steps:
    """vllm#15106: the role after the first piece of the prompt, the first token 1.3 s later."""
    yield 0.9, say.start()
    yield from tokens(say, first=2.2)
    yield from ended(say.end("stop", 10), 2.4)


@stream(DIALECTS, Facts(ttft=200.0, e2e=200.18))
def slow_prefill(say: Dialect) -> Steps:
    """Above every bucket: the figure is the figure (llm-d-inference-sim#266)."""
    yield 0.1, say.start()
    yield from tokens(say, first=200.0)
    yield from ended(say.end("stop", 10), 200.2)


@stream(DIALECTS, Facts(output=40, ttft=1.65, e2e=4.95, tpot=None, buffered=True, text=" w" * 40))
def bursts_of_a_gateway(say: Dialect) -> Steps:
    """dstack#4269, ten times as fast: nothing for 1.65 s, then everything that came meanwhile, three times."""
    yield 0.1, say.start()
    for at, many in ((1.65, 14), (3.3, 13), (4.95, 13)):
        yield at, b"".join(say.text(" w") for _ in range(many))
    yield from ended(say.end("stop", 40), 5.0)


@stream(DIALECTS, Facts(e2e=0.46, tpot=0.16 / 9))
def four_to_a_read(say: Dialect) -> Steps:
    """c8s#140: a proxy that gathers four events makes most gaps nothing, and TPOT stays what it is."""
    yield 0.1, say.start()
    for at, some in ((0.3, WORDS[:4]), (0.38, WORDS[4:8]), (0.46, WORDS[8:])):
        yield at, b"".join(say.text(word) for word in some)
    yield from ended(say.end("stop", 10))


@stream(DIALECTS, Facts(e2e=10.32, tpot=10.02 / 9))
def one_long_stall(say: Dialect) -> Steps:
    yield 0.1, say.start()
    yield from tokens(say, WORDS[:9], first=0.3)
    yield 10.32, say.text(WORDS[9])
    yield from ended(say.end("stop", 10), 10.4)

"""The words of an answer in each API's own bytes, so that one odd stream is told over all of them.

A dialect is made anew for each answer, since some count as they go.
"""

import json

# What each API calls the reasons of an end.
ANTHROPIC_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
TGI_REASONS = {"stop": "eos_token", "length": "length"}
LLAMACPP_REASONS = {"stop": "eos", "length": "limit"}


def line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def data(value: object, kind: str = "") -> bytes:
    named = f"event: {kind}\n" if kind else ""
    return f"{named}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


class Dialect:
    """OpenAI's chat completions, which the others differ from.

    Attributes:
        api: What `api:` calls it.
        starts: Whether something comes before the first token.
        reasons: Whether it tells reasoning apart.
        calls: Whether it has tools.
        counts: Whether every event says how many tokens there are so far.
        ends_apart: Whether something follows the event that holds the reason and the counts.
    """

    api = "openai-chat"
    path = "/v1/chat/completions"
    content_type = "text/event-stream"
    starts = True
    reasons = True
    calls = True
    counts = False
    ends_apart = True

    def start(self) -> bytes:
        return self.delta({"role": "assistant", "content": ""})

    def delta(self, delta: object, finish: object = None, **more: object) -> bytes:
        return data({"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})

    def text(self, text: str, tokens: int = 1) -> bytes:
        return self.delta({"content": text})

    def empty(self) -> bytes:
        return self.delta({"content": ""})

    def reasoning(self, text: str) -> bytes:
        return self.delta({"reasoning": text})

    def call(self, name: str, arguments: str) -> bytes:
        return self.delta({"tool_calls": [{"index": 0, "function": {"name": name, "arguments": arguments}}]})

    def end(self, reason: str, output: int | None) -> tuple[bytes, ...]:
        """What follows the last token: the reason, the counts unless `output` is None, and that nothing follows."""
        usage = (data({"id": "x", "choices": [], "usage": self.usage(output)}),) if output is not None else ()
        return (self.delta({}, reason), *usage, b"data: [DONE]\n\n")

    def usage(self, output: int) -> dict[str, int]:
        return {"prompt_tokens": 11, "completion_tokens": output}

    def error(self) -> bytes:
        return data({"error": {"message": "secret prompt", "type": "server_error", "code": "overloaded"}})

    def error_document(self) -> dict[str, object]:
        return {"error": {"message": "secret prompt", "type": "invalid_model"}}


class Completions(Dialect):
    api = "openai-completions"
    path = "/v1/completions"
    starts = False
    reasons = False
    calls = False

    def start(self) -> bytes:
        return b""

    def choice(self, text: str, finish: object = None, **more: object) -> bytes:
        return data({"choices": [{"index": 0, "text": text, "finish_reason": finish}], **more})

    def text(self, text: str, tokens: int = 1) -> bytes:
        return self.choice(text)

    def empty(self) -> bytes:
        return self.choice("")

    def end(self, reason: str, output: int | None) -> tuple[bytes, ...]:
        usage = (data({"choices": [], "usage": self.usage(output)}),) if output is not None else ()
        return (self.choice("", reason), *usage, b"data: [DONE]\n\n")


class Anthropic(Dialect):
    api = "anthropic"
    path = "/v1/messages"

    def event(self, kind: str, **more: object) -> bytes:
        return data({"type": kind, **more}, kind)

    def start(self) -> bytes:
        """The start guesses one output token, as the real one does."""
        usage = {"input_tokens": 4, "cache_read_input_tokens": 7, "output_tokens": 1}
        return self.event("message_start", message={"role": "assistant", "content": [], "usage": usage})

    def block_delta(self, kind: str, **fields: object) -> bytes:
        return self.event("content_block_delta", index=0, delta={"type": kind, **fields})

    def text(self, text: str, tokens: int = 1) -> bytes:
        return self.block_delta("text_delta", text=text)

    def empty(self) -> bytes:
        return self.block_delta("text_delta", text="")

    def reasoning(self, text: str) -> bytes:
        return self.block_delta("thinking_delta", thinking=text)

    def call(self, name: str, arguments: str) -> bytes:
        if name:
            return self.event("content_block_start", index=0, content_block={"type": "tool_use", "name": name})
        return self.block_delta("input_json_delta", partial_json=arguments)

    def end(self, reason: str, output: int | None) -> tuple[bytes, ...]:
        counts = {} if output is None else {"usage": {"output_tokens": output}}
        last = self.event("message_delta", delta={"stop_reason": ANTHROPIC_REASONS[reason]}, **counts)
        return (self.event("content_block_stop", index=0), last, self.event("message_stop"))

    def error(self) -> bytes:
        return self.event("error", error={"type": "overloaded", "message": "secret prompt"})


class Ollama(Dialect):
    api = "ollama"
    path = "/api/chat"
    content_type = "application/x-ndjson"
    starts = False
    ends_apart = False

    def start(self) -> bytes:
        return b""

    def message(self, message: object, **more: object) -> bytes:
        return line({"model": "m", "message": message, "done": False, **more})

    def text(self, text: str, tokens: int = 1) -> bytes:
        return self.message({"role": "assistant", "content": text})

    def empty(self) -> bytes:
        return self.text("")

    def reasoning(self, text: str) -> bytes:
        return self.message({"role": "assistant", "content": "", "thinking": text})

    def call(self, name: str, arguments: str) -> bytes:
        """It sends each call whole; the arguments are an object."""
        function = {"name": name, "arguments": json.loads(arguments or "{}")}
        return self.message({"role": "assistant", "content": "", "tool_calls": [{"function": function}]})

    def end(self, reason: str, output: int | None) -> tuple[bytes, ...]:
        counts = {} if output is None else {"prompt_eval_count": 11, "eval_count": output}
        # It has no reason of its own for calls.
        named = "stop" if reason == "tool_calls" else reason
        return (self.message({"role": "assistant", "content": ""}, done=True, done_reason=named, **counts),)

    def error(self) -> bytes:
        return line({"error": "secret prompt: out of memory"})

    def error_document(self) -> dict[str, object]:
        return {"error": "secret prompt: out of memory"}


class Responses(Dialect):
    api = "openai-responses"
    path = "/v1/responses"
    ends_apart = False

    def __init__(self) -> None:
        self._called = False

    def event(self, kind: str, **more: object) -> bytes:
        return data({"type": kind, **more}, kind)

    def start(self) -> bytes:
        return self.event("response.created", response={"status": "in_progress", "output": [], "usage": None})

    def text(self, text: str, tokens: int = 1) -> bytes:
        return self.event("response.output_text.delta", delta=text)

    def empty(self) -> bytes:
        return self.event("response.in_progress", response={"status": "in_progress"})

    def reasoning(self, text: str) -> bytes:
        return self.event("response.reasoning_text.delta", delta=text)

    def call(self, name: str, arguments: str) -> bytes:
        self._called = True
        if name:
            return self.event("response.output_item.added", item={"type": "function_call", "name": name})
        return self.event("response.function_call_arguments.delta", delta=arguments)

    def end(self, reason: str, output: int | None) -> tuple[bytes, ...]:
        usage = None if output is None else {"input_tokens": 11, "output_tokens": output}
        # The whole answer comes again, which counts nothing twice.
        again = {"type": "message", "content": [{"type": "output_text", "text": "all of it again"}]}
        items = [{"type": "function_call", "name": "clock", "arguments": "{}"}] if self._called else [again]
        response: dict[str, object] = {"status": "completed", "output": items, "usage": usage}
        if reason == "length":
            response |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        repeated = self.event("response.output_text.done", text="all of it again")
        return (repeated, self.event(f"response.{response['status']}", response=response))

    def error(self) -> bytes:
        error = {"code": "overloaded", "message": "secret prompt"}
        return self.event("response.failed", response={"status": "failed", "error": error, "output": []})


class Tgi(Dialect):
    api = "tgi"
    path = "/generate_stream"
    starts = False
    reasons = False
    calls = False
    ends_apart = False

    def start(self) -> bytes:
        return b""

    def token(self, text: str, *, special: bool = False, **more: object) -> bytes:
        token = {"id": 1, "text": text, "logprob": -0.5, "special": special}
        return data({"index": 1, "token": token, "generated_text": None, "details": None, **more})

    def text(self, text: str, tokens: int = 1) -> bytes:
        return self.token(text)

    def empty(self) -> bytes:
        return self.token("")

    def end(self, reason: str, output: int | None) -> tuple[bytes, ...]:
        counts = {} if output is None else {"generated_tokens": output, "input_length": 11}
        details = {"finish_reason": TGI_REASONS[reason], "seed": None, **counts}
        return (self.token("</s>", special=True, generated_text="all of it again", details=details),)

    def error(self) -> bytes:
        return data({"error": "Request failed during generation: secret prompt", "error_type": "generation"})

    def error_document(self) -> dict[str, object]:
        return {"error": "secret prompt", "error_type": "validation"}


class LlamaCpp(Dialect):
    api = "llamacpp"
    path = "/completion"
    starts = False
    reasons = False
    calls = False
    counts = True
    ends_apart = False

    def __init__(self) -> None:
        self._predicted = 0

    def start(self) -> bytes:
        return b""

    def event(self, text: str, **more: object) -> bytes:
        counts = {"tokens_predicted": self._predicted, "tokens_evaluated": 11}
        return data({"index": 0, "content": text, "stop": False, "id_slot": 0, **counts, **more})

    def text(self, text: str, tokens: int = 1) -> bytes:
        self._predicted += tokens
        return self.event(text)

    def empty(self) -> bytes:
        return self.event("")

    def end(self, reason: str, output: int | None) -> tuple[bytes, ...]:
        assert output is not None, "it always counts"
        self._predicted = output
        timings = {"prompt_n": 11, "prompt_ms": 150.0, "predicted_n": output, "predicted_ms": 250.0}
        return (self.event("", stop=True, stop_type=LLAMACPP_REASONS[reason], timings=timings),)


DIALECTS: dict[str, type[Dialect]] = {
    kind.api: kind for kind in (Dialect, Completions, Responses, Anthropic, Ollama, Tgi, LlamaCpp)
}
SSE = tuple(api for api in DIALECTS if api != "ollama")

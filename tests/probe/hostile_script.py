"""Odd streams as data: when which bytes are sent, and what a probe must make of them, worked out by hand."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hostile_dialects import DIALECTS, Dialect

# Seconds since the request, and what is sent then; nothing is sent for b"".
Steps = Iterator[tuple[float, bytes]]
Script = Callable[[Any], Steps]

# Ten tokens, from 0.3 s every 20 ms, so the last is at 0.48 s.
WORDS = tuple(f" w{number}" for number in range(10))
FIRST, STEP, END = 0.3, 0.02, 0.5


@dataclass(frozen=True)
class Facts:
    """What a probe must find. Times are seconds since the request.

    Attributes:
        ttfr: The first event of any kind, where the dialect has one before the first token.
        ttfr_bare: The same where it has none; that is the first token, unless something else is said here.
        text: What the user sees.
        tail: From the last token to the end, where that is what the stream is about.
    """

    outcome: str = "success"
    output: int | None = 10
    source: str | None = "usage"
    finish: str | None = "stop"
    ttfr: float | None = 0.1
    ttfr_bare: float | None = None
    ttft: float | None = FIRST
    e2e: float | None = 0.48
    tpot: float | None = 0.02
    buffered: bool = False
    text: str = "".join(WORDS)
    tail: float | None = None
    status: int = 200

    def ttfr_of(self, dialect: Dialect) -> float | None:
        bare = self.ttft if self.ttfr_bare is None else self.ttfr_bare
        return self.ttfr if dialect.starts else bare


# A stream that breaks after three tokens, at 0.34 s.
THREE = Facts(output=3, source="chunks", finish=None, e2e=0.34, text="".join(WORDS[:3]))
NOTHING = Facts(output=None, source=None, finish=None, ttft=None, e2e=None, tpot=None, text="")


@dataclass(frozen=True)
class Stream:
    """One odd stream in the words of one API.

    Attributes:
        broken: Whether the connection is reset behind the last step, instead of the body ending as it should.
        encoding: The Content-Encoding in which the body travels.
    """

    name: str
    api: str
    facts: Facts
    script: Script = field(repr=False)
    status: str = "200 OK"
    content_type: str | None = None
    broken: bool = False
    encoding: str | None = None

    @property
    def id(self) -> str:
        return f"{self.name}@{self.api}"

    @property
    def dialect(self) -> Dialect:
        return DIALECTS[self.api]()

    def steps(self) -> list[tuple[float, bytes]]:
        return [(at, data) for at, data in self.script(self.dialect) if data]


STREAMS: dict[str, Stream] = {}


def stream(
    over: Iterable[str],
    facts: Facts,
    by: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    own_type: bool = True,
    **more: Any,
) -> Callable[[Script], Script]:
    """Register a script as a stream of each API of `over`; `by` says which facts an API has otherwise."""

    def register(script: Script) -> Script:
        for api in over:
            name = getattr(script, "__name__", "")
            found = replace(facts, **(by or {}).get(api, {}))
            kind = DIALECTS[api].content_type if own_type else "application/json"
            made = Stream(name, api, found, script, content_type=kind, **more)
            assert made.id not in STREAMS, made.id
            STREAMS[made.id] = made
        return script

    return register


def tokens(
    say: Dialect, words: Iterable[str] = WORDS, first: float = FIRST, step: float = STEP, each: int = 1
) -> Steps:
    for number, word in enumerate(words):
        yield first + number * step, say.text(word, each)


def ended(pieces: Iterable[bytes], at: float = END) -> Steps:
    for piece in pieces:
        yield at, piece


def whole(say: Dialect, output: int | None = 10, reason: str = "stop", words: Iterable[str] = WORDS) -> Steps:
    """A good answer: the start at 0.1 s, ten tokens, the end at 0.5 s."""
    yield 0.1, say.start()
    yield from tokens(say, words)
    yield from ended(say.end(reason, output))


def each(steps: Steps, change: Callable[[bytes], bytes]) -> Steps:
    for at, data in steps:
        yield at, change(data)


def cut(steps: Steps, where: Callable[[bytes], int], later: float = 0.01) -> Steps:
    """Send each piece in two parts, cut where the function says; its rest comes `later`."""
    for at, data in steps:
        place = where(data)
        if 0 < place < len(data):
            yield at, data[:place]
            yield at + later, data[place:]
        else:
            yield at, data

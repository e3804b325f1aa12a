"""The engine files: one YAML file per inference engine or gateway, data without code.

Each says how to recognise it, where its metrics are, and what each of our concepts is there.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from inferwatch.errors import ConfigError
from inferwatch.strict_yaml import Strict, file_text, parse

ENGINES_FOLDER = Path(__file__).resolve().parent.parent / "engines"
Verified = Literal["live", "source", "docs"]


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError(f"write a path that begins with a slash, such as /metrics, not {path!r}")
    return path


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"write a regular expression; {text!r} is none: {error}") from error
    return text


UrlPath = Annotated[str, AfterValidator(_absolute)]
Pattern = Annotated[str, AfterValidator(_pattern)]
# Names of one thing, newest first.
Names = Annotated[list[str], Field(min_length=1)]


class InfoPage(Strict):
    """A JSON document that the server's own port serves, such as /version.

    Attributes:
        path: On the server's port, from its root (not under the base URL that an OpenAI SDK takes).
        keys: The document's keys that together tell this engine from all others; none where it looks like another's.
        version: The key that holds the engine's version, if one does.
    """

    path: UrlPath
    keys: list[str] = Field(default_factory=list)
    version: str | None = None


class Detect(Strict):
    """How to recognise the engine. Each way that is given stands for itself; without one it has to be configured.

    Attributes:
        metric_prefixes: What one of its metrics' names begins with.
        beside: What another one's name must begin with, too, where the first alone would fit another engine.
        passes_on: Whether its metrics page also holds the metrics of another engine behind it, or names that look like
            them, so that it is looked for first.
        models_owned_by: What `owned_by` says in its list of models.
        info: Documents that it serves.
        headers: Response header, in lower case -> regular expression that its whole value matches, in any case.
    """

    metric_prefixes: list[str] = Field(default_factory=list)
    beside: list[str] = Field(default_factory=list)
    passes_on: bool = False
    models_owned_by: list[str] = Field(default_factory=list)
    info: list[InfoPage] = Field(default_factory=list)
    headers: dict[str, Pattern] = Field(default_factory=dict)


class Quotient(Strict):
    """A share or a mean as two counters: how much the part grew for each one of the whole.

    Attributes:
        part: Names of the counter above the line, newest first.
        of: Names of the counter below the line.
    """

    part: Names
    of: Names


class Copies(Strict):
    """Series that several worker processes of one rank export alike, of which one counts.

    Attributes:
        rank: Label of the rank.
        series: Their names.
    """

    rank: str
    series: Names


class Info(Strict):
    """A series whose labels are the engine's settings.

    Attributes:
        series: Its name.
        labels: Those of its labels that are recorded.
    """

    series: str
    labels: Names


class Like(Strict):
    """Another engine's metrics under other names.

    Attributes:
        engine: The other engine's file.
        prefix: What its metrics' names begin with.
        becomes: What they begin with here.
    """

    engine: str
    prefix: str
    becomes: str


class Engine(Strict):
    """One inference engine, or a gateway in front of engines.

    Metrics are named as PromQL selects them, with label matchers in braces where a concept needs them; a histogram
    without its `_bucket`. Where there are several names, the newest comes first, and an instance that exports two of
    them is counted once. prometheus/concepts.py says what each concept is and how its series are put together.

    Attributes:
        name: What `engine:` in inferwatch.yml and the label `inference_engine` (or `inference_gateway`) say.
        title: The name that a person reads.
        kind: A gateway's requests are also those of the engines behind it, so they are recorded apart.
        verified: How the expressions were checked: on a running engine, in its source, or in its documentation.
        versions: Which versions that holds for.
        enable: How to make it export metrics.
        port: Its usual port.
        metrics_path: Where its metrics are; none where it has no metrics, and only probes can watch it.
        authorization: Whether the metrics need the engine's key.
        own_model_name: Whether its series name the model; if not, discovery sets `model_name`.
        model_labels: Labels that name the model where it is not `model_name`; the last that is there counts.
        only: A label matcher that every series of it must pass.
        process_of: A series whose instances are the engine's own process, where `process_start_time_seconds` is its.
        reason_label: The label of `requests_finished` that says why.
        at_end: Concepts whose counters move only when a request ends, so that a long answer is a step.
        absent: Concepts that it cannot give.
        traps: What a reader of its figures has to know, a sentence each.
        like: Whose metrics it passes on under other names; what is given here comes on top.
        relabel: What its scrape job needs in `metric_relabel_configs`.
        histograms: Latency -> the engine's histogram of it in seconds.
        gauges: Concept -> gauge.
        counters: Concept -> counter.
        quotients: Concept -> two counters.
        info: Concept -> series whose labels are recorded.
        concepts: Recorded name without prefix -> PromQL that yields exactly the labels of the concept.
    """

    name: str
    title: str
    kind: Literal["engine", "gateway"] = "engine"
    verified: Verified
    versions: str
    detect: Detect = Detect()
    enable: str
    port: int | None = None
    metrics_path: UrlPath | None = None
    authorization: Literal["none", "bearer"] = "none"
    own_model_name: bool
    model_labels: list[str] = Field(default_factory=list)
    only: str = ""
    process_of: str | None = None
    reason_label: str | None = None
    at_end: list[str] = Field(default_factory=list)
    absent: list[str] = Field(default_factory=list)
    traps: list[str] = Field(default_factory=list)
    like: Like | None = None
    relabel: list[dict[str, str | list[str]]] = Field(default_factory=list)
    copies: Copies | None = None
    histograms: dict[str, Names] = Field(default_factory=dict)
    gauges: dict[str, Names] = Field(default_factory=dict)
    counters: dict[str, Names] = Field(default_factory=dict)
    quotients: dict[str, Quotient] = Field(default_factory=dict)
    info: dict[str, Info] = Field(default_factory=dict)
    concepts: dict[str, str] = Field(default_factory=dict)


_MEASURED = ("histograms", "gauges", "counters", "quotients", "info", "concepts")
_INHERITED = ("reason_label", "at_end", "absent", "traps")


@cache
def load_engines(folder: Path = ENGINES_FOLDER) -> dict[str, Engine]:
    """Return every engine by name, in the order of their names.

    Raises:
        ConfigError: If the folder holds no engine file, if one is not valid, or if its name differs from `name`.
    """
    engines: dict[str, Engine] = {}
    for file in sorted(folder.glob("*.yml")):
        engine = parse(file_text(file, "restore it"), file.name, Engine)
        if engine.name != file.stem:
            raise ConfigError([f"{file.name}: name is {engine.name!r}; write {file.stem!r}, as the file is called"])
        engines[engine.name] = engine
    if not engines:
        raise ConfigError([f"{folder}: holds no engine files; run inferwatch from a checkout or its image"])
    return {name: _completed(engine, engines) for name, engine in engines.items()}


def _completed(engine: Engine, engines: Mapping[str, Engine]) -> Engine:
    """Return the engine with the metrics of the one that it is like, under its own names."""
    like = engine.like
    if like is None:
        return engine
    other = engines.get(like.engine)
    if other is None or other.like is not None:
        known = ", ".join(one.name for one in engines.values() if one.like is None)
        raise ConfigError([f"{engine.name}.yml: like.engine is {like.engine!r}; write one of {known}"])
    text = json.dumps(other.model_dump(mode="json", include=set(_MEASURED))).replace(like.prefix, like.becomes)
    renamed = Engine.model_validate_json(
        json.dumps(engine.model_dump(mode="json") | {key: json.loads(text)[key] for key in _MEASURED})
    )
    own = {key: getattr(renamed, key) | getattr(engine, key) for key in _MEASURED}
    rest = {key: getattr(engine, key) or getattr(other, key) for key in _INHERITED}
    return engine.model_copy(update=own | rest)


def engine_names() -> tuple[str, ...]:
    """Return the names that `engine:` may hold beside `auto`."""
    return tuple(load_engines())


def recognise(metrics_text: str) -> Engine | None:
    """Return the engine whose metrics these are, judged by their prefixes, or None."""
    names = {line.split("{", 1)[0].split(" ", 1)[0] for line in metrics_text.splitlines() if line[:1] not in ("#", "")}
    # Those that pass another's metrics on come first.
    for engine in sorted(load_engines().values(), key=lambda one: not one.detect.passes_on):
        first, beside = tuple(engine.detect.metric_prefixes), tuple(engine.detect.beside)
        if any(name.startswith(first) for name in names) and (
            not beside or any(name.startswith(beside) for name in names)
        ):
            return engine
    return None


def recognise_models(owners: Iterable[str]) -> Engine | None:
    """Return the engine that calls itself the owner (`owned_by`) of the models that it lists, or None."""
    found = set(owners)
    return _only(engine for engine in load_engines().values() if found & set(engine.detect.models_owned_by))


def recognise_headers(headers: Mapping[str, str]) -> Engine | None:
    """Return the engine that names itself in the headers of a response, or None.

    Args:
        headers: Names in any case -> values.
    """
    given = {name.lower(): value for name, value in headers.items()}
    return _only(
        engine
        for engine in load_engines().values()
        if any(
            name in given and re.fullmatch(pattern, given[name], re.IGNORECASE)
            for name, pattern in engine.detect.headers.items()
        )
    )


def recognise_info(path: str, document: object) -> Engine | None:
    """Return the engine whose document of this path has these keys, or None.

    Args:
        path: One of `info_paths()`.
        document: The parsed JSON of the answer.
    """
    if not isinstance(document, dict):
        return None
    return _only(
        engine
        for engine in load_engines().values()
        for page in engine.detect.info
        if page.path == path and page.keys and set(page.keys) <= set(document)
    )


def info_paths() -> tuple[str, ...]:
    """Return the paths whose documents tell engines apart, each once."""
    pages = (page for engine in load_engines().values() for page in engine.detect.info if page.keys)
    return tuple(dict.fromkeys(page.path for page in pages))


def _only(engines: Iterable[Engine]) -> Engine | None:
    """Return the one engine; none where several fit, for a guess would be shown as a fact."""
    found = list({engine.name: engine for engine in engines}.values())
    return found[0] if len(found) == 1 else None

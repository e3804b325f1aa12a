"""The engine files: one YAML file per inference engine, data without code.

Each says how to recognise the engine from its metrics, where they are, and what each of our concepts is there.
"""

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


class Detect(Strict):
    """How to recognise the engine."""

    metric_prefixes: list[str] = Field(min_length=1)


class Engine(Strict):
    """One inference engine.

    Attributes:
        name: What `engine:` in inferwatch.yml and the label `inference_engine` say.
        title: The name that a person reads.
        verified: How the expressions were checked: on a running engine, in its source, or in its documentation.
        metrics_path: Where its metrics are.
        authorization: Whether the metrics need the engine's key.
        own_model_name: Whether its series carry `model_name`; if not, discovery sets it.
        histograms: Latency (ttft, tpot, itl, e2e, queue, prefill, decode) -> the names that the engine gave its
            histogram of it, in seconds, newest first and without `_bucket`.
        concepts: Recorded concept without the prefix `llm:` -> PromQL that yields (target, instance, model_name)
            and `le` or `reason` where the concept has one.
    """

    name: str
    title: str
    verified: Verified
    versions: str
    detect: Detect
    metrics_path: Annotated[str, AfterValidator(_absolute)]
    authorization: Literal["none", "bearer"] = "none"
    own_model_name: bool
    histograms: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    concepts: dict[str, str]


@cache
def load_engines(folder: Path = ENGINES_FOLDER) -> dict[str, Engine]:
    """Return every engine by name, in the order of their names.

    Raises:
        ConfigError: If the folder holds no engine file, if one is not valid, or if its name differs from `name`.
    """
    engines = {}
    for file in sorted(folder.glob("*.yml")):
        engine = parse(file_text(file, "restore it"), file.name, Engine)
        if engine.name != file.stem:
            raise ConfigError([f"{file.name}: name is {engine.name!r}; write {file.stem!r}, as the file is called"])
        engines[engine.name] = engine
    if not engines:
        raise ConfigError([f"{folder}: holds no engine files; run inferwatch from a checkout or its image"])
    return engines


def engine_names() -> tuple[str, ...]:
    """Return the names that `engine:` may hold beside `auto`."""
    return tuple(load_engines())


def recognise(metrics_text: str) -> Engine | None:
    """Return the engine whose metrics these are, judged by their prefixes, or None."""
    names = {line.split("{", 1)[0].split(" ", 1)[0] for line in metrics_text.splitlines() if line[:1] not in ("#", "")}
    for engine in load_engines().values():
        if any(name.startswith(prefix) for prefix in engine.detect.metric_prefixes for name in names):
            return engine
    return None

"""Reading `inferwatch.yml`: text -> data -> model, and errors that name the line and say what to write."""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from inferwatch.config.lines import Path, load_with_lines, nearest_line, path_text
from inferwatch.config.model import Config
from inferwatch.errors import ConfigError

# The target that these variables describe is used when the file names none.
ENV_URL = "INFERWATCH_TARGET_URL"
ENV_MODEL = "INFERWATCH_TARGET_MODEL"
ENV_METRICS_URL = "INFERWATCH_TARGET_METRICS_URL"
ENV_API_KEY_FILE = "INFERWATCH_TARGET_API_KEY_FILE"
ENV_TARGET_NAME = "default"


def load_config(file: FilePath, environ: Mapping[str, str] = os.environ) -> Config:
    """Read and check the file.

    Raises:
        ConfigError: If it is absent, unreadable, not YAML, or not a valid configuration.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            [f"{file}: there is no such file; start from config/inferwatch.example.yml or give --config.file"]
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"{file}: cannot be read: {error}"]) from None
    return parse_config(text, file.name, environ)


def parse_config(text: str, name: str, environ: Mapping[str, str] = os.environ) -> Config:
    """Check the text of a configuration; `name` is what errors call the file.

    Raises:
        ConfigError: With one problem per finding.
    """
    try:
        data, lines = load_with_lines(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError([f"{name}:{line}: this is not YAML: {error.problem}"]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError([f"{name}:1: this is not YAML: {error}"]) from None
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ConfigError([f"{name}:1: the file must hold keys such as targets:, not a {type(data).__name__}"])
    if not data.get("targets"):
        data = data | {"targets": _targets_from(environ)}
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise ConfigError([_problem(name, lines, detail) for detail in error.errors()]) from None


def _targets_from(environ: Mapping[str, str]) -> list[dict[str, object]]:
    url = environ.get(ENV_URL, "").strip()
    if not url:
        return []
    target: dict[str, object] = {"name": ENV_TARGET_NAME, "url": url}
    if model := environ.get(ENV_MODEL, "").strip():
        target["model"] = model
    if key_file := environ.get(ENV_API_KEY_FILE, "").strip():
        target["auth"] = {"bearer_file": key_file}
    # Servers that are watched this way nearly always answer /metrics beside /v1; "none" is for a remote API.
    metrics = environ.get(ENV_METRICS_URL, "").strip() or _origin(url) + "/metrics"
    target["metrics"] = [] if metrics == "none" else [metrics]
    return [target]


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _problem(name: str, lines: dict[Path, int], detail: ErrorDetails) -> str:
    path = _path_in_file(detail["loc"])
    text = path_text(path)
    where = f"{name}:{nearest_line(path, lines)}: " + (f"{text}: " if text else "")
    return where + _advice(detail)


def _path_in_file(loc: tuple[int | str, ...]) -> Path:
    # pydantic adds parts of its own, such as "[key]" for a bad key of a map; they stand nowhere in the file.
    return tuple(part for part in loc if part != "[key]")


def _advice(detail: ErrorDetails) -> str:
    kind, given = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        known = _fields_at(detail["loc"][:-1])
        close = difflib.get_close_matches(str(detail["loc"][-1]), known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known keys here: {', '.join(known)}"
        return f"unknown key; {hint}"
    if kind == "missing":
        return "this key is required"
    if kind == "value_error":
        return str(detail["ctx"]["error"])
    if kind == "string_pattern_mismatch":
        return f"{given!r} does not fit the pattern {detail['ctx']['pattern']}"
    message = detail["msg"][0].lower() + detail["msg"][1:]
    shown = "" if isinstance(given, dict | list) else f", not {given!r}"
    return f"{message}{shown}"


def _fields_at(loc: tuple[int | str, ...]) -> list[str]:
    """Return the keys that the model allows at a path, following lists and maps."""
    model: type[BaseModel] | None = Config
    for part in loc:
        if model is None or isinstance(part, int):
            continue
        field = model.model_fields.get(part)
        if field is not None:
            model = _model_in(field.annotation)
    return list(model.model_fields) if model else []


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        if found := _model_in(inner):
            return found
    return None

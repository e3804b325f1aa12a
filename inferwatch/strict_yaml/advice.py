"""From pydantic's errors to sentences: `inferwatch.yml:14: targets[2].slo.ttft: what is wrong and what to write`."""

import difflib
import types
from collections.abc import Iterator
from typing import Annotated, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from inferwatch.strict_yaml.findings import Finding, FindingsError, Path
from inferwatch.strict_yaml.reader import NO_VALUE


def problems(error: ValidationError, root: type[BaseModel]) -> Iterator[Finding]:
    """Yield the path in the file and the sentence of each finding of a check against `root`."""
    for detail in error.errors():
        path = _path_in_file(detail)
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, FindingsError):
            for below, sentence in cause.found:
                yield (*path, *below), sentence
        else:
            yield path, _sentence(detail, _annotation_at(root, detail["loc"]), root)


def _path_in_file(detail: ErrorDetails) -> Path:
    path = detail["loc"]
    # pydantic ends the path of a bad key with a part of its own, "[key]", that stands nowhere in the file.
    if path[-1:] == ("[key]",):
        path = path[:-1]
    # Where a key of `auth` is unknown it may be the secret itself.
    if detail["type"] == "extra_forbidden" and _secret(detail):
        path = path[:-1]
    return path


def _sentence(detail: ErrorDetails, wanted: object, root: type[BaseModel]) -> str:
    kind, given, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "missing":
        return "this key is required"
    if kind == "extra_forbidden":
        return _unknown_key(str(detail["loc"][-1]), _keys(_annotation_at(root, detail["loc"][:-1])))
    if given is NO_VALUE:
        return "this key has no value; write one or remove the key"
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_type" and isinstance(given, int | float) and not _secret(detail):
        return f'write it in quotes: "{_yaml(given)}"'
    if kind in ("too_short", "string_too_short"):
        return "must not be empty"
    bound = next((f"must be {word} {context[key]:g}" for key, word in _BOUNDS.items() if key in context), None)
    return (bound or _wanted(kind, wanted) or detail["msg"]) + _not(detail)


_BOUNDS = {"gt": "greater than", "ge": "at least", "lt": "less than", "le": "at most"}


def _wanted(kind: str, annotation: object) -> str | None:
    """Return what to write where something of another type stands."""
    match kind:
        case "literal_error":
            return "write " + " or ".join(str(choice) for choice in get_args(annotation))
        case "model_type":
            return "write keys below it: " + ", ".join(_keys(annotation))
        case "dict_type":
            return "write keys below it, each with a value"
        case "list_type":
            return "write a list, each item on its own line after a hyphen"
        case "string_type":
            return "write a text"
        case "bool_type":
            return "write true or false"
        case "int_type" | "int_from_float":
            return "write a whole number"
        case "float_type" | "finite_number":
            return "write a number"
    return None


def _unknown_key(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return f"unknown key; did you mean {close[0]}?" if close else f"unknown key; known here: {', '.join(known)}"


# Below these keys stand secrets, or what somebody took for the place of one.
_SECTIONS_OF_SECRETS = {"auth", "basic_auth_users", "proxy", "proxy_auth_file", "tls"}


def _secret(detail: ErrorDetails) -> bool:
    return not _SECTIONS_OF_SECRETS.isdisjoint(detail["loc"])


def _not(detail: ErrorDetails) -> str:
    """Return what stands there now, ``, not 'x'``, unless it may be a secret; long values are cut."""
    given = detail["input"]
    if isinstance(given, dict):
        return ", not keys with values"
    if isinstance(given, list):
        return ", not a list"
    if _secret(detail):
        return ""
    text = repr(given) if isinstance(given, str) else _yaml(given)
    return f", not {text if len(text) <= 40 else text[:37] + '...'}"


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _keys(annotation: object) -> list[str]:
    return list(annotation.model_fields) if _is_model(annotation) else []


def _annotation_at(root: type[BaseModel], path: Path) -> object:
    """Return the type that the model gives to a path, without Annotated and `| None`; None for an unknown path."""
    annotation: object = root
    for part in path:
        if _is_model(annotation):
            found = annotation.model_fields.get(str(part))
            annotation = found.annotation if found else None
        elif get_origin(annotation) in (list, dict):
            annotation = get_args(annotation)[-1]
        annotation = _plain(annotation)
    return annotation


def _is_model(annotation: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _plain(annotation: object) -> object:
    while get_origin(annotation) in (Annotated, Union, types.UnionType):
        annotation = next(inner for inner in get_args(annotation) if inner is not types.NoneType)
    return annotation

"""JSON Schemas of the configuration, checked when they are read: what is taken can be run on any answer."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, cast

from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema
from referencing import Registry
from referencing.exceptions import Unresolvable

from inferwatch.config.files import read_file
from inferwatch.config.pattern import pattern
from inferwatch.strict_yaml.reader import NO_VALUE

# Below these keys stand names of one's own, not keywords.
_NAMED = ("properties", "$defs", "definitions", "dependentSchemas")
_DRAFTS = {
    str(draft.META_SCHEMA.get("$id") or draft.META_SCHEMA.get("id")).rstrip("#"): draft
    for draft in (Draft4Validator, Draft6Validator, Draft7Validator, Draft201909Validator, Draft202012Validator)
}
_NO_SCHEMAS = ("const", "enum", "default", "examples")


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON Schema as text, which compares and hashes as a value."""

    text: str

    @property
    def document(self) -> dict[str, Any]:
        """The schema as data."""
        return dict(json.loads(self.text))

    @property
    def takes_objects(self) -> bool:
        """Whether its `type`, if it has one, lets a value be an object."""
        kinds = self.document.get("type", "object")
        return "object" in ([kinds] if isinstance(kinds, str) else kinds)

    def broken_by(self, value: Any) -> str | None:
        """Return which rule of the schema a value breaks, as a path in the schema; None if it breaks none.

        Nothing of the value is in the text.
        """
        try:
            errors = sorted(_validator(self.text).iter_errors(value), key=lambda error: len(error.absolute_schema_path))
        except RecursionError:
            return "its depth"
        return "/".join(str(part) for part in errors[0].absolute_schema_path) if errors else None


def schema_of(value: object) -> Schema:
    """Return a schema that can be used.

    Raises:
        ValueError: If it is none, or needs what is not supported; the message says which part.
    """
    document = _without_marks(value)
    if not isinstance(document, dict):
        raise ValueError("write a JSON Schema: keys such as type: object, required: [name]")
    try:
        found = Schema(json.dumps(document, allow_nan=False))
    except (TypeError, ValueError):
        raise ValueError("a JSON Schema holds only what JSON can") from None
    for part in _subschemas(document):
        _supported(part)
    try:
        _draft(document).check_schema(document)
    except SchemaError as error:
        place = "/".join(str(part) for part in error.absolute_path)
        raise ValueError(f"this is not a JSON Schema: {place + ': ' if place else ''}{error.message[:200]}") from None
    for part in _subschemas(document):
        _resolvable(found, part)
    return found


def _schema_from_text(value: object, info: ValidationInfo) -> Schema:
    file = read_file(value, info)
    try:
        document = json.loads(file.text)
    except (ValueError, RecursionError):
        raise ValueError(f"{file.path} is not JSON; it must hold one JSON Schema") from None
    try:
        return schema_of(document)
    except ValueError as error:
        raise ValueError(f"{file.path}: {error}") from None


def _draft(document: Mapping[str, Any]) -> type[Validator]:
    """Return the draft that a schema names, by default 2020-12; raises ValueError for an unknown one."""
    named = document.get("$schema", "")
    if not named:
        return Draft202012Validator
    draft = _DRAFTS.get(str(named).rstrip("#"))
    if draft is None:
        raise ValueError(f"$schema must name a draft of JSON Schema: {', '.join(_DRAFTS)}")
    return draft


def _without_marks(value: object) -> object:
    """Return data as YAML gave it with `null` for a key without a value, which a schema may well mean."""
    if value is NO_VALUE:
        return None
    if isinstance(value, dict):
        return {str(key): _without_marks(inner) for key, inner in value.items()}
    return [_without_marks(inner) for inner in value] if isinstance(value, list) else value


def _subschemas(schema: object) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and those in it."""
    if isinstance(schema, list):
        for inner in schema:
            yield from _subschemas(inner)
    elif isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            if key in _NAMED and isinstance(value, dict):
                yield from _subschemas(list(value.values()))
            elif key not in _NO_SCHEMAS:
                yield from _subschemas(value)


def _supported(part: Mapping[str, Any]) -> None:
    if "patternProperties" in part:
        # It would be run by Python's own regular expressions.
        raise ValueError("patternProperties is not supported; write properties, or propertyNames with pattern")
    if isinstance(part.get("pattern"), str):
        try:
            pattern(part["pattern"])
        except ValueError as error:
            raise ValueError(f"pattern: {error}") from None
    for key in ("$ref", "$dynamicRef"):
        if isinstance(part.get(key), str) and not part[key].startswith("#"):
            raise ValueError(f"{key} must lead to a place in the same schema, such as #/$defs/item; nothing is fetched")


def _resolvable(schema: Schema, part: Mapping[str, Any]) -> None:
    reference = part.get("$ref")
    if not isinstance(reference, str):
        return
    validator = _validator(schema.text)
    try:
        # A reference is followed only where a value comes to it, so that each is followed once here.
        next(validator.evolve(schema={**schema.document, "$ref": reference}).iter_errors(None), None)
    except Unresolvable:
        raise ValueError(f"$ref {reference} leads nowhere") from None
    except RecursionError:
        raise ValueError(f"$ref {reference} leads back to itself without end") from None


def _matches(validator: Validator, wanted: str, value: object, schema: Mapping[str, Any]) -> Iterator[ValidationError]:  # noqa: ARG001
    if isinstance(value, str) and pattern(wanted).search(value) is None:
        yield ValidationError("no match")


@lru_cache(maxsize=256)
def _validator(text: str) -> Validator:
    document = json.loads(text)
    own = extend(_draft(document), {"pattern": _matches})  # type: ignore[no-untyped-call]
    # Without a registry of its own, the library would fetch what a reference names.
    return cast(Validator, own(document, registry=Registry()))


InlineSchema = Annotated[Schema, BeforeValidator(schema_of), WithJsonSchema({"type": "object"})]
SchemaFile = Annotated[Schema, BeforeValidator(_schema_from_text), WithJsonSchema({"type": "string"})]

"""Prompts and schemas in files of their own, and schemas and patterns that cannot be used."""

import json
from pathlib import Path

import pytest

from inferwatch.config import Config, load_config
from inferwatch.config.files import Files
from inferwatch.config.schema import Schema, schema_of
from inferwatch.errors import ConfigError

PERSON = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}}}


def written(folder: Path, scenario: str) -> Path:
    file = folder / "inferwatch.yml"
    file.write_text(f"scenarios:\n  mine: {{{scenario}, max_tokens: 9}}\n")
    return file


def loaded(folder: Path, scenario: str) -> Config:
    return load_config(written(folder, scenario), {})


def explained(folder: Path, scenario: str) -> str:
    with pytest.raises(ConfigError) as caught:
        loaded(folder, scenario)
    return str(caught.value)


# Files


def test_a_prompt_from_a_file_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "long.txt").write_text("\ufeffWhy is\nthe sky blue?\n")
    scenario = loaded(tmp_path, "prompt_file: prompts/long.txt").scenarios["mine"]
    assert [case.prompt for case in scenario.all_cases] == ["Why is\nthe sky blue?"]
    before = scenario.asked()
    (tmp_path / "prompts" / "long.txt").write_text("Another")
    assert loaded(tmp_path, "prompt_file: prompts/long.txt").scenarios["mine"].asked() != before


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "there is no file {}; a relative path starts in the folder of this file"),
        (b"", "{} is empty"),
        (b" \n ", "{} is empty"),
        (b"\xff\xfe", "{} is not UTF-8; save it as UTF-8"),
        (b"x" * ((4 << 20) + 1), "{} is larger than 4 MiB; name the right one"),
    ],
)
@pytest.mark.parametrize("key", ["prompt_file", "checks.json_schema_file"])
def test_a_file_that_cannot_be_used(tmp_path: Path, content: bytes | None, sentence: str, key: str) -> None:
    file = tmp_path / "it.txt"
    if content is not None:
        file.write_bytes(content)
    told = explained(
        tmp_path, "prompt_file: it.txt" if key == "prompt_file" else "prompt: x, checks: {json_schema_file: it.txt}"
    )
    assert told == f"inferwatch.yml:2: scenarios.mine.{key}: {sentence.format(file)}"


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    assert f"{tmp_path} is a folder; name a file in it" in explained(tmp_path, f"prompt_file: {tmp_path}")


def test_a_prompt_and_a_file_of_one(tmp_path: Path) -> None:
    (tmp_path / "it.txt").write_text("Why?")
    assert "give exactly one of prompt, prompt_file" in explained(tmp_path, "prompt: x, prompt_file: it.txt")


def test_files_that_are_kept_stand_for_those_that_are_gone(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"what b\.txt held is not kept"):
        Files(tmp_path, {"a.txt": "A"}).read("b.txt")
    assert Files(tmp_path, {"a.txt": "A"}).read("a.txt").text == "A"


# Schemas


def test_a_schema_in_the_file_and_in_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "person.json").write_text(json.dumps(PERSON))
    inline = loaded(tmp_path, f"prompt: x, checks: {{json_schema: {json.dumps(PERSON)}}}").scenarios["mine"]
    named = loaded(tmp_path, "prompt: x, checks: {json_schema_file: person.json}").scenarios["mine"]
    for scenario in (inline, named):
        assert scenario.checks is not None
        assert scenario.checks.schema_of_answer == Schema(json.dumps(PERSON))


def test_null_is_a_value_of_a_schema(tmp_path: Path) -> None:
    config = loaded(tmp_path, "prompt: x, checks: {json_schema: {enum: [null, 1]}}")
    checks = config.scenarios["mine"].checks
    assert checks is not None and checks.schema_of_answer is not None
    assert checks.schema_of_answer.broken_by(None) is None and checks.schema_of_answer.broken_by(2)


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({"type": "strin"}, "this is not a JSON Schema: type: 'strin' is not valid"),
        (
            {"properties": {"a": {"minimum": "1"}}},
            "this is not a JSON Schema: properties/a/minimum: '1'",
        ),
        (
            {"pattern": "(?=a)"},
            "pattern: this is not a regular expression: invalid perl operator: (?=; the syntax",
        ),
        ({"patternProperties": {"a": {}}}, "patternProperties is not supported; write properties, or propertyNames"),
        ({"$ref": "http://example.com/schema"}, "$ref must lead to a place in the same schema"),
        ({"$ref": "#/$defs/absent"}, "$ref #/$defs/absent leads nowhere"),
        ({"properties": {"a": {"$ref": "#/absent"}}}, "$ref #/absent leads nowhere"),
        ({"$ref": "#"}, "$ref # leads back to itself without end"),
        ({"$schema": "http://example.com/mine"}, "$schema must name a draft of JSON Schema: http://json-schema.org/"),
        ([], "write a JSON Schema: keys such as type: object"),
        ({"const": float("nan")}, "a JSON Schema holds only what JSON can"),
    ],
)
def test_a_schema_that_cannot_be_used(schema: object, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        schema_of(schema)
    assert str(caught.value).startswith(sentence)


def test_a_schema_file_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "it.json"
    scenario = "prompt: x, checks: {json_schema_file: it.json}"
    file.write_text("{")
    assert explained(tmp_path, scenario).endswith("it.json is not JSON; it must hold one JSON Schema")
    file.write_text('{"type": 1}')
    assert "json_schema_file: it.json: this is not a JSON Schema: type: 1 is not valid" in explained(tmp_path, scenario)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ({"name": "bob"}, None),
        ({"name": "Bob"}, "properties/name/pattern"),
        ({"name": 1}, "properties/name/type"),
        ({}, "required"),
        ([], "type"),
    ],
)
def test_which_rule_is_broken(value: object, rule: str | None) -> None:
    assert schema_of(PERSON).broken_by(value) == rule


def test_a_schema_may_hold_itself() -> None:
    tree = schema_of({"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}})
    assert tree.broken_by({"kids": [{"kids": []}]}) is None
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"kids": [deep]}
    assert tree.broken_by(deep) == "its depth"


# Patterns


@pytest.mark.parametrize(
    ("regex", "sentence"),
    [
        ("(", "this is not a regular expression: missing ): (; the syntax is RE2's, as in Prometheus"),
        (r"(a)\1", "invalid escape sequence: \\1"),
        ("((a{1,1000}){1,1000}){1,1000}", "invalid repetition size"),
        ("a" * 5000, "a regular expression has at most 4096 characters"),
    ],
)
def test_a_pattern_that_cannot_be_used(tmp_path: Path, regex: str, sentence: str) -> None:
    told = explained(tmp_path, f"prompt: x, checks: {{regex: {json.dumps(regex)}}}")
    assert told.startswith("inferwatch.yml:2: scenarios.mine.checks.regex: ") and sentence in told

"""YAML as the strict reader sees it."""

import math

import pytest

from inferwatch.strict_yaml.reader import LARGEST_FILE_BYTES, NO_VALUE, UnusableYamlError, nearest_line, read_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # Texts that YAML 1.1 turns into something else
        ("on", "on"), ("yes", "yes"), ("NO", "NO"), ("2026-01-31", "2026-01-31"), ("1:30", "1:30"), ("0o17", "0o17"),
        ("0x1F", "0x1F"), ("1_000", "1_000"), ("=", "="), ("12e", "12e"), ("1.2.3", "1.2.3"), ("5s", "5s"),
        ("'5'", "5"), ("!!str 5", "5"), ("http://10.0.0.7:8000/v1", "http://10.0.0.7:8000/v1"),
        # The core schema of YAML 1.2
        ("true", True), ("FALSE", False), ("5", 5), ("-5", -5), ("010", 10), ("2.50", 2.5), ("1e3", 1e3), (".5", 0.5),
        (".inf", math.inf), ("-.Inf", -math.inf), ("1e999", math.inf), ("~", NO_VALUE), ("null", NO_VALUE),
        ("9" * 30, 1e30), ('!!int "5"', 5), ("[]", []), ("{}", {}), ("<<", "<<"),
    ],
)  # fmt: skip
def test_scalars(text, value):
    data, _ = read_yaml(text)
    assert data == value
    assert type(data) is type(value)


def test_nan_is_a_number_for_the_model_to_refuse():
    data, _ = read_yaml(".nan")
    assert isinstance(data, float) and math.isnan(data)


def test_keys_are_texts():
    assert read_yaml("{on: 1, 5: 2, 2026-01-01: 3, null: 4}")[0] == {"on": 1, "5": 2, "2026-01-01": 3, "null": 4}


def test_an_empty_text_is_nothing():
    assert read_yaml("# only a comment\n") == (None, {(): 1})


def test_lines():
    _, lines = read_yaml("a:\n  b:\n  - c\n  - d: 1\n    e: 2\n")
    assert lines == {
        (): 1, ("a",): 1, ("a", "b"): 2, ("a", "b", 0): 3, ("a", "b", 1): 4, ("a", "b", 1, "d"): 4,
        ("a", "b", 1, "e"): 5,
    }  # fmt: skip
    assert nearest_line(("a", "b", 1, "missing", "below"), lines) == 4
    assert nearest_line(("missing",), lines) == 1


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_of_any_system(ending):
    data, lines = read_yaml(ending.join(["a: 1", "b:", "  c: 2"]))
    assert data == {"a": 1, "b": {"c": 2}}
    assert lines["b", "c"] == 3


def test_an_alias_repeats_a_value():
    data, lines = read_yaml("a: &slo {ttft: 2s}\nb: *slo\n")
    assert data == {"a": {"ttft": "2s"}, "b": {"ttft": "2s"}}
    assert lines["b",] == 2


def test_merged_keys_give_way_to_own_ones_and_to_earlier_maps():
    data, lines = read_yaml("one: &one {a: 1, b: 1}\ntwo: &two {b: 2, c: 2}\nall:\n  <<: [*one, *two]\n  a: 3\n")
    assert data["all"] == {"a": 3, "b": 1, "c": 2}
    assert (lines["all", "a"], lines["all", "b"], lines["all", "c"]) == (5, 1, 2)


def test_a_merge_may_build_on_a_merge():
    data, _ = read_yaml("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b, z: 3}\n")
    assert data["c"] == {"x": 1, "y": 2, "z": 3}


def test_merges_cannot_grow_without_end():
    grown = "a0: &a0 {x: 1}\n" + "".join(
        f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 9)
    )
    with pytest.raises(UnusableYamlError, match="expands to more than 50000 values"):
        read_yaml(grown)


def test_a_merge_of_itself_ends():
    with pytest.raises(UnusableYamlError, match="nested more than 20 levels deep"):
        read_yaml("a: &a\n  <<: *a\n")


def test_the_largest_text():
    read_yaml("#" * LARGEST_FILE_BYTES)
    with pytest.raises(UnusableYamlError, match="larger than 524288 bytes"):
        read_yaml("#" * (LARGEST_FILE_BYTES + 1))


@pytest.mark.parametrize("text", ["!!int abc", "!!bool yes", "!!float x", "!!set {a}", "!!binary aGk=", "!own [1]"])
def test_tags_that_do_not_fit(text):
    with pytest.raises(UnusableYamlError, match="does not fit here; remove it"):
        read_yaml(text)


@pytest.mark.parametrize("text", ["[" * 5000, '"\\UFFFFFFFF"', "%YAML 3.0\n---\n", "*nowhere", "a: b: c", "@"])
def test_what_the_parser_refuses_is_explained(text):
    with pytest.raises(UnusableYamlError):
        read_yaml(text)

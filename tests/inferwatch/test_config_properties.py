"""Wild input: only ConfigError comes out, and names a line of the file; valid data survives a round trip."""

import json
import re
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from inferwatch.config import Config, parse_config
from inferwatch.durations import format_duration
from inferwatch.errors import ConfigError

NAME = "inferwatch.yml"
KEYS = sorted({key for model in (Config, *Config.model_json_schema()["$defs"].values()) for key in (
    model.model_fields if isinstance(model, type) else model["properties"])})  # fmt: skip

keys = st.sampled_from(KEYS) | st.text(max_size=8)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates()
    | st.sampled_from(["60s", "short", "http://10.0.0.7:8000/v1", "local", "0.95", "10.0.0.7:9810"])
)  # fmt: skip
wild_data = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=20
)
wild_files = st.dictionaries(st.sampled_from(list(Config.model_fields)), wild_data, max_size=4)
yaml_like = st.text(
    alphabet=st.sampled_from(list("abc015.:-?!&*<>[]{}#'\"|%@`~,\\ \n\t\r\ufeff\x85\u2028\0")), max_size=60
)


def checked(text: str) -> Config | None:
    """Return the configuration of a text, or None if it is refused properly."""
    try:
        return parse_config(text, NAME, {})
    except ConfigError as error:
        assert error.problems
        for problem in error.problems:
            place = re.match(rf"{re.escape(NAME)}:(\d+): \S", problem)
            assert place, problem
            assert 1 <= int(place[1]) <= len(re.split(r"\r\n|[\r\n\x85\u2028\u2029]", text)), problem
        return None


@given(st.text(max_size=200) | yaml_like)
@example("a: *a")
@example("? ")
@example("- " * 2000)
@example("{" * 2000)
@example("a: &a\n  <<: *a\n")
@example('"\\x')
def test_any_text(text):
    checked(text)


@given(wild_files | wild_data)
@settings(max_examples=300)
def test_any_data(data):
    checked(yaml.safe_dump(data, allow_unicode=True))


@given(wild_files)
def test_any_json(data):
    checked(json.dumps(data, default=str))


# Valid configurations

durations = st.integers(min_value=1000, max_value=3_600_000).map(lambda milliseconds: f"{milliseconds}ms")
names = st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True)
texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff"), min_size=1, max_size=30
)
hosts = st.from_regex(r"[a-z][a-z0-9]{0,10}(\.[a-z]{2,5})?", fullmatch=True)
whole = st.integers(min_value=1, max_value=1000)
money = st.floats(min_value=0, max_value=1e6)
paths = st.from_regex(r"/[a-z]{1,10}", fullmatch=True)


def options(required: dict[str, Any] | None = None, **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required or {}, optional=optional)


def objective(largest: int) -> st.SearchStrategy[dict[str, Any]]:
    threshold = st.integers(min_value=1, max_value=largest * 1000).map(lambda milliseconds: f"{milliseconds}ms")
    return options({"threshold": threshold}, quantile=st.sampled_from([0.5, 0.95, 0.99]))


slos = options(ttft=objective(60), tpot=objective(1), e2e=objective(100))
gpus = st.one_of(
    options({"indices": st.lists(st.integers(0, 15), min_size=1, unique=True)}, node=texts),
    st.fixed_dictionaries({"count": st.floats(min_value=0.01, max_value=1000)}),
)
currencies = st.from_regex(r"[A-Z]{3}", fullmatch=True)
costs = options({"per_hour": money}, currency=currencies) | options(
    {"input_per_mtok": money, "output_per_mtok": money}, currency=currencies
)
auths = st.one_of(
    st.fixed_dictionaries({"bearer_file": paths}),
    st.fixed_dictionaries({"bearer_env": st.from_regex(r"[A-Z_]{1,10}", fullmatch=True)}),
    st.fixed_dictionaries({"header": st.fixed_dictionaries({"name": st.just("api-key"), "file": paths})}),
)
targets = options(
    {"name": names, "url": hosts.map(lambda host: f"http://{host}:8000/v1")},
    api=st.sampled_from(["openai-chat", "openai-completions"]),
    model=texts,
    engine=st.sampled_from(["auto", "vllm", "llamacpp"]),
    auth=auths,
    slo=slos,
    gpus=gpus,
    cost=costs,
    probe_budget=st.fixed_dictionaries({"tokens_per_day": st.integers(min_value=1000, max_value=10**9)}),
    labels=st.dictionaries(st.from_regex(r"team_[a-z]{1,5}", fullmatch=True), texts, max_size=3),
    scenarios=st.just(["short"]),
    interval=durations,
    timeout=durations,
)
configurations = options(
    defaults=options(interval=durations, timeout=durations),
    prober=options(max_concurrent=st.integers(1, 256)),
    gpu_exporters=st.lists(
        options({"address": hosts.map(lambda host: f"{host}:9810"), "node": texts}, expected=whole),
        unique_by=(lambda one: one["address"], lambda one: one["node"]),
        max_size=3,
    ).filter(lambda listed: all(one["node"] != "local" for one in listed)),
    targets=st.lists(targets, unique_by=lambda one: one["name"], max_size=3),
    scenarios=st.dictionaries(names, options({"prompt": texts, "max_tokens": whole}, interval=durations), max_size=3),
)


def as_written(value: object, field: str = "") -> object:
    """Return a model as a person would write it: what was set, and durations with their units."""
    if isinstance(value, BaseModel):
        return {name: as_written(getattr(value, name), name) for name in value.model_fields_set}
    if isinstance(value, dict):
        return {name: as_written(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_written(item) for item in value]
    return format_duration(value) if field in ("interval", "timeout", "threshold") else value


@given(configurations)
def test_a_valid_configuration_survives_a_round_trip(data):
    # JSON is YAML that quotes every text; PyYAML's dumper follows YAML 1.1 and leaves 0E0, a number in 1.2, unquoted.
    config = checked(json.dumps(data, ensure_ascii=False))
    assert config is not None
    assert checked(json.dumps(as_written(config), ensure_ascii=False)) == config
    assert {target.name for target in config.targets} == {target["name"] for target in data.get("targets", [])}

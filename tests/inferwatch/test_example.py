"""The files in config/ are valid, and the example shows every option."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from inferwatch.config import Config, load_config

CONFIG_FOLDER = Path(__file__).resolve().parents[2] / "config"


def models_in(value: object) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
        for name in value.model_fields_set:
            yield from models_in(getattr(value, name))
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from models_in(item)


def test_the_shipped_file_is_valid_and_has_no_target():
    assert load_config(CONFIG_FOLDER / "inferwatch.yml", {}) == Config()


@pytest.mark.parametrize("removed", ["#", "# "])
def test_the_shipped_file_becomes_a_target_when_its_comments_are_removed(tmp_path, removed):
    head, targets = (CONFIG_FOLDER / "inferwatch.yml").read_text().split("\ntargets:\n")
    opened = tmp_path / "inferwatch.yml"
    opened.write_text(f"{head}\ntargets:\n" + "".join(line.removeprefix(removed) for line in targets.splitlines(True)))
    (target,) = load_config(opened, {}).targets
    assert (target.name, target.cost.per_hour, target.slo.ttft.threshold) == ("chat", 2.5, 2.0)
    assert len(targets.splitlines()) == 5


def test_the_example_shows_every_option():
    shown: dict[type[BaseModel], set[str]] = {}
    for model in models_in(load_config(CONFIG_FOLDER / "inferwatch.example.yml", {})):
        shown.setdefault(type(model), set()).update(model.model_fields_set)
    missing = {model.__name__: set(model.model_fields) - names for model, names in shown.items()}
    assert not {name: fields for name, fields in missing.items() if fields}
    # The walk above sees only models that appear; every model of the configuration must.
    known = {model.__name__ for model in shown}
    assert known == {"Config"} | set(Config.model_json_schema()["$defs"])

"""The examples for the Prometheus Operator against the schema of its custom resources, and against prometheus.yml."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from compose import CHECKOUT

FOLDER = CHECKOUT / "deploy" / "kubernetes"
SCHEMA = yaml.safe_load((CHECKOUT / "tests" / "deploy" / "operator_schema.yml").read_text(encoding="utf-8"))
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}


@cache
def examples() -> tuple[dict[str, Any], ...]:
    files = (FOLDER / f"{name}.yml" for name in ("podmonitor", "scrapeconfig"))
    return tuple(one for file in files for one in yaml.safe_load_all(file.read_text(encoding="utf-8")))


def problems(value: Any, schema: dict[str, Any], path: str = "spec") -> Iterator[str]:
    """Yield what the API server would refuse: types, unknown and missing fields, enumerations, patterns."""
    if not isinstance(value, TYPES[schema["type"]]):
        yield f"{path}: {value!r} is no {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{path}: {value!r} does not match {schema['pattern']}"
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name, inner in value.items():
            if name in known:
                yield from problems(inner, known[name], f"{path}.{name}")
            elif isinstance(schema.get("additionalProperties"), dict):
                yield from problems(inner, schema["additionalProperties"], f"{path}.{name}")
            else:
                yield f"{path}.{name}: there is no such field"
        yield from (f"{path}.{name}: is required" for name in schema.get("required", []) if name not in value)
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from problems(inner, schema["items"], f"{path}[{index}]")


def name_of(example: dict[str, Any]) -> str:
    return f"{example['kind']}-{example['metadata']['name']}"


@pytest.mark.parametrize("example", examples(), ids=name_of)
def test_an_example_is_one_that_the_operator_takes(example: dict[str, Any]) -> None:
    assert example["apiVersion"] == SCHEMA[example["kind"]]["apiVersion"]
    assert list(problems(example["spec"], SCHEMA[example["kind"]]["spec"])) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"podMetricEndpoints": []}, "spec.podMetricEndpoints: there is no such field"),
        ({"podMetricsEndpoints": [{"intervall": "15s"}]}, "spec.podMetricsEndpoints[0].intervall: there is no such"),
        ({"podMetricsEndpoints": [{"interval": "15 seconds"}]}, "interval: '15 seconds' does not match"),
        ({"podMetricsEndpoints": [{"metricRelabelings": [{"action": "rename"}]}]}, "'rename' is none of"),
        ({"podMetricsEndpoints": [{"relabelings": [{"sourceLabels": "a"}]}]}, "'a' is no array"),
        ({}, "spec.selector: is required"),
    ],
)  # fmt: skip
def test_the_check_finds_mistakes(change: dict[str, Any], told: str) -> None:
    assert any(told in problem for problem in problems(change, SCHEMA["PodMonitor"]["spec"]))


def relabellings(spec: dict[str, Any]) -> list[dict[str, Any]]:
    (holder,) = spec.get("podMetricsEndpoints", [spec])
    names = {"sourceLabels": "source_labels", "targetLabel": "target_label"}
    return [{names.get(key, key): value for key, value in one.items()} for one in holder.get("metricRelabelings", [])]


def test_they_rename_and_drop_what_prometheus_yml_does() -> None:
    shipped = yaml.safe_load((CHECKOUT / "prometheus" / "prometheus.yml").read_text(encoding="utf-8"))
    wanted = shipped["scrape_configs"][0]["metric_relabel_configs"]
    engines = [example for example in examples() if example["metadata"]["name"].startswith("llm-engine")]
    assert len(engines) == 3
    for example in engines:
        assert relabellings(example["spec"]) == wanted, name_of(example)


def test_every_example_gives_the_labels_that_rules_look_for() -> None:
    for example in examples():
        if example["kind"] == "PodMonitor":
            (endpoint,) = example["spec"]["podMetricsEndpoints"]
            assert {"job", "target", "node"} <= {one["targetLabel"] for one in endpoint["relabelings"]}
        else:
            # The rest comes from the probe exporter's lists.
            assert example["spec"]["jobName"] in {"llm-engine", "gpu", "probe"}

"""The documents name what exists: files, commands, keys and alerts."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import yaml
from pydantic import BaseModel
from typer.main import get_command

from alerting.catalogue import catalogue
from exporters.probe import metrics as probe_metrics
from inferwatch.config import Config, parse_config
from inferwatch.config.model import INHERITED
from inferwatch.durations import parse_duration
from stack.cli import app

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("alerting/runbooks/*.md")])
README = (ROOT / "README.md").read_text()
CONFIGURATION = (ROOT / "docs" / "CONFIGURATION.md").read_text()
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))


def code_of(text: str) -> str:
    """Return what stands in code: blocks, indented lines and spans."""
    fenced = re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE)
    return "\n".join([*fenced, *re.findall(r"^ {4}.*$", text, re.MULTILINE), *re.findall(r"`([^`\n]+)`", text)])


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@every_document
def test_links_lead_somewhere(document):
    for link in LINK.findall(document.read_text()):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


@every_document
def test_make_targets_exist(document):
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in re.findall(r"\bmake ((?:[a-z]+ ?)+)(?:$|[^a-z])", code_of(document.read_text()), re.MULTILINE):
        assert set(line.split()) <= made, line


@every_document
def test_commands_and_their_options_exist(document):
    commands = get_command(app).commands
    for name, rest in re.findall(r"\binferwatch ([a-z][a-z-]*)([^`\n|#)]*)", code_of(document.read_text())):
        assert name in commands, name
        options = {option for parameter in commands[name].params for option in parameter.opts} | {"--help"}
        assert set(re.findall(r"(?<![\w-])--?[a-z][a-z.-]*", rest)) <= options, f"inferwatch {name}{rest}"


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120


def test_the_readme_lists_every_alert():
    alerts = {alert.name for alerts in catalogue().values() for alert in alerts}
    assert set(re.findall(r"alerting/runbooks/(\w+)\.md", README)) == alerts


def test_targets_in_yaml_are_a_valid_configuration():
    blocks = [
        (document.name, block)
        for document in DOCUMENTS
        for block in re.findall(r"^```yaml\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)
        if re.search(r"^targets:", block, re.MULTILINE)
    ]
    assert {"README.md", "probe-exporter.md"} <= {name for name, _ in blocks}
    assert all(parse_config(block, name, {}).targets for name, block in blocks)


def test_compose_variables_of_the_documents_are_read_by_something():
    sources = "".join((ROOT / name).read_text() for name in ("docker-compose.yml", "inferwatch/config/environment.py"))
    for document in DOCUMENTS:
        for variable in re.findall(r"\bINFERWATCH_[A-Z_]+[A-Z]\b", document.read_text()):
            assert variable in sources, f"{document.name}: {variable}"


# docs/CONFIGURATION.md


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        waiting: list[object] = [field.annotation]
        while waiting:
            annotation = waiting.pop()
            waiting += get_args(annotation)
            if isinstance(annotation, type) and issubclass(annotation, BaseModel):
                yield from models(annotation)


def section(heading: str) -> str:
    match = re.search(rf"^#+ {heading}\n(.*?)(?=^#|\Z)", CONFIGURATION, re.DOTALL | re.MULTILINE)
    assert match, heading
    return match[1]


def documented(heading: str) -> set[str]:
    """Return the keys in the tables under a heading, `header.name` as `header` and `name`."""
    keys = re.findall(r"^\| `([a-z0-9_.]+)` \|", section(heading), re.MULTILINE)
    return {part for key in keys for part in key.split(".")}


SECTIONS = {
    "Config": "Sections",
    "Defaults": "defaults",
    "Prober": "prober",
    "GpuExporter": "gpu_exporters",
    "Target": "targets",
    "Auth": "auth",
    "Tls": "tls",
    "SloTarget": "slo",
    "Gpus": "gpus",
    "Cost": "cost",
    "ProbeBudget": "probe_budget",
    "Scenario": "scenarios",
    "Tool": "tools",
    "CalledTool": "tool_call",
    "Case": "cases",
    "Message": "messages",
    "Checks": "checks",
}


MODELS = sorted(set(models(Config)), key=lambda model: model.__name__)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_is_documented_and_nothing_else(model):
    if model.__name__ == "Slo":
        assert all(f"`{name}`" in CONFIGURATION for name in model.model_fields)
    elif model.__name__ == "SecretHeader":
        assert set(model.model_fields) <= documented("auth")
    else:
        extra = {"name", "file", "env"} if model.__name__ == "Auth" else set()
        assert documented(SECTIONS[model.__name__]) == set(model.model_fields) | extra


@pytest.mark.parametrize("model", [one for one in MODELS if one.__name__ in SECTIONS], ids=lambda model: model.__name__)
def test_documented_defaults_are_those_of_the_model(model):
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", section(SECTIONS[model.__name__]), re.MULTILINE)
    assert rows
    for key, cell in rows:
        field = model.model_fields.get(key)
        if field is None:
            continue
        assert (cell == "required") == field.is_required(), key
        if written := re.fullmatch(r"`([^`]+)`", cell):
            default = field.get_default(call_default_factory=True)
            given = yaml.safe_load(written[1])
            if key in (*INHERITED, "max_lag") and isinstance(default, float):
                assert parse_duration(given) == default, key
            elif default is not None:
                assert given == default, key


# docs/definitions.md, docs/probe-exporter.md


def test_every_outcome_and_phase_is_defined():
    text = (ROOT / "docs" / "definitions.md").read_text()
    assert all(f"`{outcome}`" in text for outcome in probe_metrics.OUTCOMES)
    assert all(f"`{phase}`" in text for phase in probe_metrics.PHASES)


def test_every_outcome_has_advice_and_every_reason_is_explained():
    text = (ROOT / "docs" / "probe-exporter.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == set(probe_metrics.OUTCOMES)
    assert all(f"`{reason}`" in text for reason in probe_metrics.SKIP_REASONS)
    assert all(f'llm_probe_paused{{reason="{reason}"}}' in text for reason in probe_metrics.PAUSE_REASONS)

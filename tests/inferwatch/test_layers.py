"""Imports run one way, as the data does."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Each folder may import itself and what stands in the lines above; alerting and dashboards stand side by side.
LAYERS = [{"inferwatch"}, {"exporters"}, {"prometheus"}, {"alerting", "dashboards"}, {"stack"}]
# The floors inside the probe exporter; the files beside the folders are its ground (failures, redaction) and its roof.
PROBE = ["metrics", "wire", "protocols", "checks", "asking", "targets", "series", "scheduling", "views"]
FOLDERS = [folder for layer in LAYERS for folder in layer]
FILES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))


def imported(file: Path) -> set[str]:
    """Return the first part of every absolute import, wherever in the file it stands."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            names.add((node.module or "").split(".")[0])
    return names


def test_imports_go_down():
    assert len(FILES) > 50
    upward = []
    for file in FILES:
        own = file.relative_to(ROOT).parts[0]
        depth = next(depth for depth, layer in enumerate(LAYERS) if own in layer)
        allowed = {own}.union(*LAYERS[:depth])
        upward += [f"{file.relative_to(ROOT)} imports {name}" for name in imported(file) & set(FOLDERS) - allowed]
    assert not upward


def test_the_exporters_know_nothing_of_each_other():
    for own, other in (("gpu", "probe"), ("probe", "gpu")):
        for file in (ROOT / "exporters" / own).rglob("*.py"):
            assert f"exporters.{other}" not in file.read_text(), file


def test_imports_go_down_inside_the_probe_exporter():
    home = ROOT / "exporters" / "probe"
    assert {folder.name for folder in home.iterdir() if (folder / "__init__.py").exists()} == set(PROBE)
    upward = []
    for depth, own in enumerate(PROBE):
        above = [f"exporters.probe.{name}" for name in PROBE[depth + 1 :]]
        for file in (home / own).rglob("*.py"):
            modules = {
                node.module or "" for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)
            }
            upward += [f"{file.relative_to(home)} imports {name}" for name in modules if name.startswith(tuple(above))]
    assert not upward


def test_the_document_has_every_floor_in_its_order_and_every_module_beside_them():
    text = (ROOT / "docs" / "probe-exporter.md").read_text()
    _, _, places = text.partition("\n## Where things are\n")
    floors, _, rest = places.partition("\nBeside them,")
    beside, _, _ = rest.partition("\n\n")
    home = ROOT / "exporters" / "probe"
    assert re.findall(r"^\| `(\w+)/` \|", floors, re.MULTILINE) == PROBE
    assert all(list(home.glob(f"*/{name}")) for name in re.findall(r"`(\w+\.py)`", floors))
    modules = {file.name for file in home.glob("*.py")} - {"__init__.py"}
    assert set(re.findall(r"`(\w+\.py)`", beside)) == modules

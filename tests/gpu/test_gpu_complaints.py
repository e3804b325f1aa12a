"""Every complaint of complaints.py is held by a test that is marked with its number."""

import ast
from pathlib import Path

from complaints import COMPLAINTS

TESTS = Path(__file__).parents[1]


def numbers(decorator: ast.expr) -> list[int]:
    """Return the numbers in ``@pytest.mark.complaint(...)``; none for another decorator."""
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) != "pytest.mark.complaint":
        return []
    return [ast.literal_eval(argument) for argument in decorator.args]


def marked() -> dict[int, set[str]]:
    """Return which tests are marked with each number."""
    found: dict[int, set[str]] = {}
    for file in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for number in (number for decorator in node.decorator_list for number in numbers(decorator)):
                    found.setdefault(number, set()).add(f"{file.name}::{node.name}")
    return found


def test_every_complaint_has_a_test_and_every_number_is_a_complaint() -> None:
    assert sorted(COMPLAINTS) == list(range(1, 38))
    assert sorted(marked()) == sorted(COMPLAINTS)

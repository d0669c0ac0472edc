"""Each module has tests of its own: a broken one is found by the file of its name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.syntax_trees import LIBRARY as PACKAGE
from tests.syntax_trees import syntax_trees

TESTS = Path(__file__).parent
PROGRAMS = ("__init__.py", "__main__.py")
MODULES = [
    path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")) if path.name not in PROGRAMS
]
FEWEST = 3


def functions_of(path: Path) -> list[ast.FunctionDef]:
    """The functions of a file."""
    tree = ast.parse(path.read_text()) if path.exists() else ast.Module([], [])
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def own_tests(module: Path) -> int:
    """The number of tests in the file of a module's name; one with parameters counts as several."""
    functions = functions_of(TESTS / module.with_name(f"test_{module.name}"))
    tests = [node for node in functions if node.name.startswith("test_")]
    return sum(FEWEST if has_parameters(test) else 1 for test in tests)


def has_parameters(test: ast.FunctionDef) -> bool:
    """Whether a test is several: each with other parameters."""
    return any("parametrize" in ast.unparse(one) for one in test.decorator_list)


def fewest_tests(module: Path) -> int:
    """The number of tests that a module needs: fewer where it defines less."""
    definitions = sum(
        isinstance(node, ast.FunctionDef | ast.ClassDef)
        for node in syntax_trees()[PACKAGE / module].body
    )
    return min(FEWEST, definitions)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_module_has_tests_of_its_own(module: Path) -> None:
    assert own_tests(module) >= fewest_tests(module)


def test_a_module_without_tests_is_missed() -> None:
    assert own_tests(Path("ir/nothing.py")) == 0
    assert fewest_tests(Path("ir/stmt.py")) == FEWEST
    assert len(MODULES) > 100

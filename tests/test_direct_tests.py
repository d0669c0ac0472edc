"""Each module of the layers that everything stands on has tests of its own: a broken one is found
by the file of its name.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import te_sched

PACKAGE, TESTS = Path(te_sched.__file__).parent, Path(__file__).parent
MODULES = [
    path.relative_to(PACKAGE)
    for folder in ("ir", "arith", "schedule", "lowering", "tir/passes")
    for path in sorted((PACKAGE / folder).rglob("*.py"))
    if path.name != "__init__.py"
]
FEWEST = 3


def own_tests(module: Path) -> list[str]:
    """The names of the tests in the file of a module's name."""
    path = TESTS / module.with_name(f"test_{module.name}")
    tree = ast.parse(path.read_text()) if path.exists() else ast.Module([], [])
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in names if name.startswith("test_")]


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_module_has_tests_of_its_own(module: Path) -> None:
    assert len(own_tests(module)) >= FEWEST


def test_a_module_without_tests_is_missed() -> None:
    assert own_tests(Path("ir/nothing.py")) == []
    assert len(MODULES) > 100

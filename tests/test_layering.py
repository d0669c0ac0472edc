"""Imports go downward only: the contracts of pyproject.toml, and no imports hidden in functions."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.syntax_trees import nodes

ROOT = Path(__file__).resolve().parent.parent


def test_import_contracts_are_kept():
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", script, "--no-cache", "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_function_imports_the_library():
    """Below the faces, which may load LLVM late, a local import of te_sched would hide a cycle."""
    lines = defaultdict(set)
    for path, function in nodes(ast.FunctionDef):
        lines[path].update(range(function.lineno, function.end_lineno + 1))
    hidden = [
        f"{path.relative_to(ROOT)}:{statement.lineno}"
        for path, statement in (*nodes(ast.Import), *nodes(ast.ImportFrom))
        if path.parent.name not in ("te_sched", "driver")  # faces
        if statement.lineno in lines[path] and _imports_te_sched(statement)
    ]
    assert hidden == []


def test_nothing_below_imports_the_package_face():
    """`from te_sched import lower` inside the library would need the whole of it."""
    faces = [
        f"{path.relative_to(ROOT)}:{statement.lineno}"
        for path, statement in nodes(ast.ImportFrom)
        if path.parent.name != "te_sched" and statement.module == "te_sched"
        for name in statement.names
        if not _is_module(name.name)
    ]
    assert faces == []


def _imports_te_sched(statement: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return (statement.module or "").split(".")[0] == "te_sched"
    return any(name.name.split(".")[0] == "te_sched" for name in statement.names)


def _is_module(name: str) -> bool:
    path = ROOT / "te_sched" / name
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


# What `import te_sched` leaves for the first use.
LATE = (
    *("llvmlite", "sympy", "te_sched.topi", "te_sched.relax", "te_sched.dlight", "te_sched.story"),
    *("te_sched.schedule", "te_sched.tensorir", "te_sched.tir", "te_sched.lowering.pipeline"),
    *("te_sched.analysis", "te_sched.driver", "te_sched.transform", "te_sched.compat"),
)


# What `from te_sched import relax` leaves, too; facts about blocks need no schedule.
LATE_OF_GRAPHS = (
    *("llvmlite", "sympy", "te_sched.schedule", "te_sched.tensorir.state", "te_sched.topi"),
    *("te_sched.dlight", "te_sched.analysis", "te_sched.driver", "te_sched.tir.transform"),
    *("te_sched.relax.vm", "te_sched.relax.frontend", "te_sched.relax.transform.legalize_ops"),
)


@pytest.mark.parametrize(
    ("names", "late"), [("te_sched", LATE), ("te_sched.relax", LATE_OF_GRAPHS)]
)
def test_an_import_loads_only_what_declares_programs(names, late):
    code = f"import sys, {names}; print(*{{*{late}}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

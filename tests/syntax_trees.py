"""The syntax trees of te_sched's modules, parsed once for the tests that look into them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

_N = TypeVar("_N", bound=ast.AST)
LIBRARY = Path(__file__).resolve().parent.parent / "te_sched"


@cache
def syntax_trees() -> Mapping[Path, ast.Module]:
    """The trees by the paths of the modules."""
    return {path: ast.parse(path.read_text()) for path in sorted(LIBRARY.rglob("*.py"))}


@cache
def nodes(kind: type[_N]) -> tuple[tuple[Path, _N], ...]:
    """The nodes of a kind, with the paths of their modules."""
    return tuple(
        (path, node)
        for path, tree in syntax_trees().items()
        for node in ast.walk(tree)
        if isinstance(node, kind)
    )

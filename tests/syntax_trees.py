"""The syntax trees of te_sched's modules, parsed once for the tests that look into them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

LIBRARY = Path(__file__).resolve().parent.parent / "te_sched"


@cache
def syntax_trees() -> Mapping[Path, ast.Module]:
    """The trees by the paths of the modules."""
    return {path: ast.parse(path.read_text()) for path in sorted(LIBRARY.rglob("*.py"))}

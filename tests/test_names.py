"""One name means one thing: no two public classes share one."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import te_sched

PACKAGE = Path(te_sched.__file__).parent
FACE = "compat"  # has TVM's names for what te_sched has too


def test_public_classes_have_names_of_their_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        if FACE in path.relative_to(PACKAGE).parts:
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}

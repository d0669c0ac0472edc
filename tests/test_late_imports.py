"""Imports that the layers do not show: names of modules in strings, and circles of files.

A string that names a module of a higher layer is an import as any other; each is listed here.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from tests.syntax_trees import LIBRARY, syntax_trees, walk

ROOT = Path(__file__).resolve().parent.parent
_PLACE = re.compile(r"te_sched(\.[a-z_0-9]+)+(:[\w.]+)?")

_NAMES_OF_TVM = "TVM has these names there; they are loaded at their first use"
_FACE_OF_TVM = "a worker is as its parent: with `import tvm`, if that has it"
# What names a module above it, as "room file" -> (room above, reason).
UPWARD = {
    ("absent_names.py", "compat"): "errors of absent names say where TVM had them",
    ("late_methods.py", "relax"): "methods of classes of the IR that are implemented above it",
    ("relax/transform/__init__.py", "meta_schedule"): _NAMES_OF_TVM,
    ("pass_context.py", "tir"): "options of TVM for passes that build never runs",
    ("runtime/loading.py", "relax"): "files of executables say which reader they need",
    ("te/__init__.py", "lowering"): _NAMES_OF_TVM,
    ("te/__init__.py", "schedule"): _NAMES_OF_TVM,
    ("te/hybrid/__init__.py", "lowering"): _NAMES_OF_TVM,
    ("te/hybrid/runtime.py", "codegen"): "max_num_threads of hybrid scripts asks the target",
    ("tir/transform.py", "meta_schedule"): _NAMES_OF_TVM,
    ("worker_pool.py", "compat"): _FACE_OF_TVM,
    ("worker_process.py", "compat"): _FACE_OF_TVM,
}
# Packages with circles of more than two files. New ones are refused.
WITH_CIRCLES = {"te_sched.codegen", "te_sched.meta_schedule"}


def test_names_of_modules_above_are_listed():
    assert {(file, room) for file, room in _upward()} == set(UPWARD)


def test_circles_of_imports_are_of_two_files():
    large = [circle for circle in _circles(_imports()) if len(circle) > 2]
    assert {".".join(name.split(".")[:2]) for circle in large for name in circle} == WITH_CIRCLES


def _upward() -> Iterator[tuple[str, str]]:
    ranks = _ranks()
    for path, tree in syntax_trees().items():
        file = path.relative_to(LIBRARY)
        room = file.parts[0].removesuffix(".py")
        for place in _places(tree):
            named = place.partition(":")[0].split(".")[1]
            if room != "__init__" and ranks.get(named, -len(ranks)) > ranks[room]:
                yield str(file), named


def _places(tree: ast.AST) -> Iterator[str]:
    """The strings that name a module, or the beginning of one."""
    for node in walk(tree):
        if isinstance(node, ast.Constant) and _PLACE.fullmatch(str(node.value)):
            yield node.value


def _ranks() -> Mapping[str, int]:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    contracts = tools["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["id"] == "layers")
    return {
        name.strip(" ()"): -place
        for place, layer in enumerate(layers)
        for name in re.split(r"[|:]", layer)
    }


def _imports() -> Mapping[str, set[str]]:
    """The modules that each module imports, wherever the statement stands."""
    trees = {_name(path): tree for path, tree in syntax_trees().items()}
    return {
        name: {_module(text, trees) for text in _imported(tree)} - {name, "te_sched", ""}
        for name, tree in trees.items()
    }


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("te_sched"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.startswith("te_sched"))


def _module(text: str, modules: Container[str]) -> str:
    while text and text not in modules:
        text = text.rpartition(".")[0]
    return text


def _circles(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """The modules that import each other, directly or through others (Kosaraju's algorithm)."""
    order: list[str] = []
    seen: set[str] = set()
    for start in edges:
        stack = [(start, False)]
        while stack:
            name, is_left = stack.pop()
            if is_left:
                order.append(name)
            elif name not in seen:
                seen.add(name)
                stack += [(name, True), *[(other, False) for other in edges[name]]]
    importers: dict[str, list[str]] = {name: [] for name in edges}
    for name, others in edges.items():
        for other in others:
            importers[other].append(name)
    circles, placed = [], set()
    for start in reversed(order):
        circle, stack = set(), [start]
        while stack:
            name = stack.pop()
            if name not in placed:
                placed.add(name)
                circle.add(name)
                stack += importers[name]
        circles.append(circle)
    return circles

"""Which functions of te_sched call which, as far as their sources say: names, imports, methods of
`self`, dispatch of visitors, and methods with a name that only one class has.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from tests.syntax_trees import LIBRARY, nodes, syntax_trees

_DISPATCH = {"visit", "generic", "visit_expr", "visit_stmt", "visit_struct_info"}
_OF_OTHERS = {
    name for kind in (str, list, dict, set, Path, Exception, np.ndarray) for name in dir(kind)
}
_IMPORTS_DEEP = 8  # how often a name is imported from a module that imports it itself


def _code(function: ast.AST) -> Iterator[ast.AST]:
    """The parts of a function without its annotations, which call nothing."""
    stack = [function]
    while stack:
        part = stack.pop()
        yield part
        for name, value in ast.iter_fields(part):
            if name not in ("annotation", "returns"):
                parts = value if isinstance(value, list) else [value]
                stack += [child for child in parts if isinstance(child, ast.AST)]


class CallGraph:
    """Functions are named "module:Class.method" or "module:function"."""

    def __init__(self) -> None:
        self.functions: dict[str, ast.FunctionDef] = {}
        self.methods: dict[str, dict[str, ast.FunctionDef]] = {}  # of each class
        self._bases: dict[str, list[ast.expr]] = {}
        self._names: dict[str, dict[str, tuple[str, str] | str]] = {}  # of each module
        self._foreign: dict[str, set[str]] = defaultdict(set)  # names of other libraries
        for path, tree in syntax_trees().items():
            parts = path.relative_to(LIBRARY.parent).with_suffix("").parts
            self._read(".".join(parts[:-1] if parts[-1] == "__init__" else parts), tree)

    def _read(self, module: str, tree: ast.Module) -> None:
        names = self._names[module] = {}
        for part in tree.body:
            if isinstance(part, ast.FunctionDef):
                names[part.name] = f"{module}:{part.name}"
                self.functions[f"{module}:{part.name}"] = part
            elif isinstance(part, ast.ClassDef):
                names[part.name] = kind = f"{module}:{part.name}"
                self._bases[kind] = part.bases
                self.methods[kind] = {
                    method.name: method
                    for method in part.body
                    if isinstance(method, ast.FunctionDef)
                }
                for name, method in self.methods[kind].items():
                    self.functions[f"{kind}.{name}"] = method
            elif isinstance(part, ast.ImportFrom) and part.module:
                for alias in part.names:
                    names[alias.asname or alias.name] = (part.module, alias.name)
            elif isinstance(part, ast.Import):
                self._foreign[module] |= {alias.asname or alias.name for alias in part.names}

    def meaning(self, module: str, name: str) -> str:
        """What a name means in a module: a function, a class or a module of te_sched, or ""."""
        for _ in range(_IMPORTS_DEEP):
            found = self._names.get(module, {}).get(name, "")
            if isinstance(found, str):
                return found
            if ".".join(found) in self._names:
                return ".".join(found)
            module, name = found
        return ""

    @cached_property
    def bases(self) -> dict[str, list[str]]:
        """Each class and the classes that it inherits from, itself first."""
        direct = {
            kind: [self._meaning_of(kind.partition(":")[0], base) for base in bases]
            for kind, bases in self._bases.items()
        }

        def all_of(kind: str) -> list[str]:
            above = [base for one in direct.get(kind, ()) for base in all_of(one)]
            return [kind, *above]

        return {kind: [one for one in all_of(kind) if one in direct] for kind in direct}

    @cached_property
    def subclasses(self) -> dict[str, set[str]]:
        """The classes that inherit from each class, itself among them."""
        found: dict[str, set[str]] = defaultdict(set)
        for kind, bases in self.bases.items():
            for base in bases:
                found[base].add(kind)
        return found

    @cached_property
    def classes_with(self) -> dict[str, list[str]]:
        """The classes that define a method of a name."""
        found: dict[str, list[str]] = defaultdict(list)
        for kind, methods in self.methods.items():
            for name in methods:
                found[name].append(kind)
        return found

    @cached_property
    def attributes(self) -> set[str]:
        """Names that mean other things than methods of te_sched, too."""
        fields = (part.target for _, part in nodes(ast.AnnAssign))
        return {
            *_OF_OTHERS,
            *(part.attr for _, part in nodes(ast.Attribute) if isinstance(part.ctx, ast.Store)),
            *(target.id for target in fields if isinstance(target, ast.Name)),
        }

    @cached_property
    def calls(self) -> dict[str, set[str]]:
        """The functions that each function mentions."""
        return {name: set(self._calls_of(name)) for name in self.functions}

    def _calls_of(self, function: str) -> Iterator[str]:
        module, _, rest = function.partition(":")
        owner = f"{module}:{rest.rpartition('.')[0]}"
        for part in _code(self.functions[function]):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                yield from self._made(self.meaning(module, part.id))
            elif isinstance(part, ast.Attribute):
                yield from self._attribute(module, owner, part)

    def _made(self, meaning: str) -> Iterator[str]:
        """A function, or what makes an object of a class."""
        if meaning in self.functions:
            yield meaning
        for name in ("__init__", "__post_init__"):
            if name in self.methods.get(meaning, ()):
                yield f"{meaning}.{name}"

    def _attribute(self, module: str, owner: str, part: ast.Attribute) -> Iterator[str]:
        value, name = part.value, part.attr
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "super":
            yield from self._inherited(self.bases.get(owner, [])[1:], name)
        elif isinstance(value, ast.Name) and value.id in ("self", "cls") and owner in self.methods:
            yield from self._own(owner, name)
        elif isinstance(value, ast.Name) and (meaning := self.meaning(module, value.id)):
            yield from self._made(self.meaning(meaning, name))
            yield from self._own(meaning, name) if meaning in self.methods else ()
        elif isinstance(value, ast.Name) and value.id in self._foreign[module]:
            return
        elif len(self.classes_with.get(name, ())) == 1 and name not in self.attributes:
            yield f"{self.classes_with[name][0]}.{name}"

    def _inherited(self, kinds: Iterable[str], name: str) -> Iterator[str]:
        nearest = next((kind for kind in kinds if name in self.methods[kind]), None)
        if nearest is not None:
            yield f"{nearest}.{name}"

    def _own(self, owner: str, name: str) -> Iterator[str]:
        """A method of a class and of its subclasses, and all `visit_` ones that are dispatched."""
        yield from self._inherited(self.bases[owner], name)
        below = self.subclasses[owner]
        yield from (f"{kind}.{name}" for kind in below if name in self.methods[kind])
        if name in _DISPATCH:
            for kind in {*self.bases[owner], *below}:
                visits = (method for method in self.methods[kind] if method.startswith("visit_"))
                yield from (f"{kind}.{method}" for method in visits)

    def _meaning_of(self, module: str, node: ast.expr) -> str:
        if isinstance(node, ast.Subscript):
            return self._meaning_of(module, node.value)
        if isinstance(node, ast.Attribute):
            return self.meaning(self._meaning_of(module, node.value), node.attr)
        return self.meaning(module, node.id) if isinstance(node, ast.Name) else ""

    def recursive(self, without: set[str]) -> list[set[str]]:
        """The groups of functions that call each other, and themselves, other than through some."""
        calls = {name: found for name, found in self.calls.items() if name not in without}
        groups = _components(calls)
        return [group for group in groups if len(group) > 1 or group & calls[min(group)]]

    def reaching(self, targets: set[str], stops: set[str]) -> dict[str, str]:
        """The functions from which targets are reached without a stop, and the next one there."""
        callers: dict[str, list[str]] = defaultdict(list)
        for caller, callees in self.calls.items():
            for callee in callees:
                callers[callee].append(caller)
        found = dict.fromkeys(targets - stops, "")
        todo = [*found]
        while todo:
            callee = todo.pop()
            for caller in callers[callee]:
                if caller not in found and caller not in stops:
                    found[caller] = callee
                    todo.append(caller)
        return found


def _components(graph: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components (Kosaraju, without recursion)."""
    order: list[str] = []
    seen: set[str] = set()
    for root in graph:
        stack = [(root, iter(graph[root]))] if root not in seen else []
        seen.add(root)
        while stack:
            node, rest = stack[-1]
            new = next((one for one in rest if one not in seen and one in graph), None)
            if new is None:
                order.append(stack.pop()[0])
            else:
                seen.add(new)
                stack.append((new, iter(graph[new])))
    callers: dict[str, list[str]] = defaultdict(list)
    for caller, callees in graph.items():
        for callee in callees:
            if callee in graph:
                callers[callee].append(caller)
    groups: list[set[str]] = []
    assigned: set[str] = set()
    for root in reversed(order):
        todo, group = [root], set[str]()
        while todo:
            node = todo.pop()
            if node not in assigned:
                assigned.add(node)
                group.add(node)
                todo += callers[node]
        if group:
            groups.append(group)
    return groups

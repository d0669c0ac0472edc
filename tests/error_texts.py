"""Finds code that inspects the text of an error instead of its data.

A text is an attribute `what`, `why`, `help`, `advice` or `message`, a variable `why` or `help`, the
`where`, `args` or `str` of a caught or annotated error, and a variable to which a text is assigned.
Inspection is to search, compare, cut or replace parts of it; printing it and folding its spaces are
not.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from tests.syntax_trees import walk

_TEXTS = {"fault", "why", "help", "advice", "message"}
_OF_ERRORS = _TEXTS | {"where", "args"}
_METHODS = {name for name in dir(str) if not name.startswith(("_", "format", "join", "encode"))}
_SEARCHES = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn"}


def looks_into_errors(tree: ast.Module) -> list[int]:
    """The lines of a module that inspect the text of an error."""
    return sorted({line for scope in _scopes(tree) for line in _Scope(scope).lines()})


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    """The outermost functions of a module, and the module itself."""
    yield from (node for node in walk(tree) if isinstance(node, ast.FunctionDef))


class _Scope:
    """A function: its errors, and the names of their texts."""

    def __init__(self, scope: ast.AST) -> None:
        self.nodes = list(walk(scope))
        self.errors = {
            node.name
            for node in self.nodes
            if isinstance(node, ast.ExceptHandler) and node.name and _is_ours(node.type)
        }
        self.errors |= {
            node.arg
            for node in self.nodes
            if isinstance(node, ast.arg) and node.annotation and _is_ours(node.annotation)
        }
        self.texts: set[str] = set()
        count = -1
        while count < len(self.texts):
            count = len(self.texts)
            for node in self.nodes:
                if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value:
                    self._assigned(node)

    def _assigned(self, node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is not None and self._is_text(node.value):
            self.texts |= {one.id for one in targets if isinstance(one, ast.Name)}

    def lines(self) -> Iterator[int]:
        """The lines that inspect a text."""
        for node in self.nodes:
            if self._is_look(node):
                yield node.lineno  # type: ignore[attr-defined]

    def _is_look(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            is_part = any(isinstance(op, ast.In | ast.NotIn) for op in node.ops)
            is_known = any(isinstance(side, ast.Constant | ast.JoinedStr) for side in sides)
            return (is_part or is_known) and any(map(self._is_text, sides))
        if isinstance(node, ast.Subscript):
            return self._is_text(node.value)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        if node.func.attr in _METHODS and self._is_text(node.func.value):
            return bool(node.args)  # `split()` folds spaces
        return node.func.attr in _SEARCHES and any(map(self._is_text, node.args))

    def _is_text(self, node: ast.expr) -> bool:
        """Whether an expression is a text of an error, or contains one."""
        if isinstance(node, ast.Name):
            return node.id in self.texts or node.id in ("why", "help")
        if isinstance(node, ast.Attribute):
            is_error = isinstance(node.value, ast.Name) and node.value.id in self.errors
            return node.attr in (_OF_ERRORS if is_error else _TEXTS)
        if isinstance(node, ast.Call):
            shown = node.args if isinstance(node.func, ast.Name) and node.func.id == "str" else []
            inside = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            return any(map(self._is_shown, shown)) or any(map(self._is_text, inside))
        if isinstance(node, ast.JoinedStr):
            values = [one.value for one in node.values if isinstance(one, ast.FormattedValue)]
            return any(map(self._is_shown, values))
        if isinstance(node, ast.BinOp):
            return self._is_text(node.left) or self._is_text(node.right)
        if isinstance(node, ast.BoolOp):
            return any(map(self._is_text, node.values))
        return isinstance(node, ast.IfExp) and any(map(self._is_text, (node.body, node.orelse)))

    def _is_shown(self, node: ast.expr) -> bool:
        return self._is_text(node) or (isinstance(node, ast.Name) and node.id in self.errors)


def _is_ours(kind: ast.expr | None) -> bool:
    """Whether a caught exception may be an error of te_sched; those of LLVM have only a text."""
    names = {node.id for node in walk(kind) if isinstance(node, ast.Name)} if kind else set()
    ours = {name for name in names if not hasattr(builtins, name) and name.endswith("Error")}
    return bool(ours or names & {"Exception", "BaseException"})

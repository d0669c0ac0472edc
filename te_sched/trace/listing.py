"""A trace as a Python program. Must not know what any primitive does."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import TypeVar

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import ScheduleError
from te_sched.ir import expr as E
from te_sched.ir.expr import Expr, FloatImm, IntImm, Node, StringImm, Var
from te_sched.ir.visitor import substitute, variables_of
from te_sched.trace.entries import Entry, HandleReference
from te_sched.trace.handles import Handles

_N = TypeVar("_N", bound=Node)
_OPERATORS = {
    E.Add: "{} + {}",
    E.Sub: "{} - {}",
    E.Mul: "{} * {}",
    E.FloorDiv: "{} // {}",
    E.FloorMod: "{} % {}",
    E.EQ: "{} == {}",
    E.NE: "{} != {}",
    E.LT: "{} < {}",
    E.LE: "{} <= {}",
    E.GT: "{} > {}",
    E.GE: "{} >= {}",
}


class Listing:
    """The program of a trace (`text`), its line for each entry (`calls`), and the objects that it
    needs by name (`needed`).
    """

    @walks_deeply("list a trace", ScheduleError)
    def __init__(self, handles: Handles, entries: Iterable[Entry]) -> None:
        self.needed: dict[str, object] = {}
        self._handles = handles
        self._labels: dict[object, str] = {}
        self._taken = {*handles.reserved, *keyword.kwlist}
        for root in handles.roots:
            if (wish := handles.name_of(root, 0)) is not None:
                self._need(root, wish)
        head = handles.head(self.label)
        self.calls = [self._line(entry) for entry in entries]
        lines = self.calls or [handles.empty] * bool(handles.empty)
        self.text = "\n".join(head + [handles.indent + line for line in lines])

    def label(self, value: object) -> str:
        """The name of a value in the program."""
        return self._need(value, self._wish(value) or "expression")

    def _name(self, wish: str) -> str:
        base = re.sub(r"\W", "_", wish) or "x"
        base = base if not base[0].isdigit() else "_" + base
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def _define(self, item: object, wish: str) -> str:
        name = self._labels[item] = self._name(wish) if self._handles.is_named else "_"
        variable = self._handles.variable_of(item)
        if variable is not None and variable is not item:
            self._labels[variable] = f"{name}.var"
        return name

    def _result(self, item: object) -> str:
        """The name of a result; a result that is None is named `_`, and counts."""
        if item is None:
            self._labels[object()] = "_"
            return "_"
        return self._define(item, self._wish(item) or "x")

    def _need(self, item: object, wish: str) -> str:
        if item not in self._labels:
            self.needed[self._define(item, wish)] = item
        return self._labels[item]

    def _line(self, entry: Entry) -> str:
        primitive = entry.primitive
        owner = self._handles.reserved[0] if entry.target is None else self._value(entry.target)
        call = primitive.call_text(owner, entry, self._value)
        if not entry.results:
            return call
        named = [self._result(item) for item in entry.results]
        return f"{self._handles.results_text(named, primitive.gives_tuple)} = {call}"

    def _wish(self, value: object) -> str | None:
        return self._handles.name_of(value, len(self._labels))

    def _value(self, value: object) -> str:
        if isinstance(value, HandleReference):
            return value.text(self.label(value.handle))
        if isinstance(value, list):
            return f"[{', '.join(map(self._value, value))}]"
        if isinstance(value, tuple):
            return f"({', '.join(map(self._value, value))}{',' if len(value) == 1 else ''})"
        wish = self._wish(value)
        if wish is not None:
            return self._need(value, wish)
        if isinstance(value, Expr):
            return self._expression(value)
        return self._handles.literal(self.renamed(value) if isinstance(value, Node) else value)

    def renamed(self, node: _N) -> _N:
        """A node whose variables have the names of the program."""
        variables = {var for var in variables_of(node) if var in self._labels}
        return substitute(node, {var: Var(self._labels[var], var.dtype) for var in variables})

    def _expression(self, expr: Expr) -> str:
        kind = type(expr)
        if kind is Var:
            return self._need(expr, expr.name)  # type: ignore[attr-defined]
        if isinstance(expr, IntImm) and expr.dtype in ("int32", "bool"):
            return repr(bool(expr.value) if expr.dtype == "bool" else expr.value)
        if isinstance(expr, (IntImm, FloatImm)):
            return self._handles.literal(expr)
        if isinstance(expr, StringImm):
            return repr(expr.value)
        if kind in _OPERATORS:
            return _OPERATORS[kind].format(self._operand(expr.a), self._operand(expr.b))  # type: ignore[attr-defined]
        if isinstance(expr, (E.And, E.Or)):
            name = "all" if isinstance(expr, E.And) else "any"
            return f"te.{name}({self._expression(expr.a)}, {self._expression(expr.b)})"
        return self._need(expr, "expression")

    def _operand(self, expr: Expr) -> str:
        if isinstance(expr, IntImm):
            return self._handles.literal(expr)  # Python would reverse 0 == x
        text = self._expression(expr)
        return f"({text})" if type(expr) in _OPERATORS else text

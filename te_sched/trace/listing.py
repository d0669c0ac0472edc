"""A trace as a Python program. Must not know what any primitive does."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Iterable, Sequence
from typing import Any

from te_sched.ir import expr as E
from te_sched.ir.expr import Expr, FloatImm, IntImm, IterVar, StringImm, Var
from te_sched.te.operation import Operation
from te_sched.te.tensor import Tensor
from te_sched.te.tensor_intrin import TensorIntrin
from te_sched.trace.entries import OWN_AXES, THREAD, Entry, StageOf

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

    def __init__(
        self,
        outputs: Sequence[Operation],
        declared: Sequence[Operation],
        entries: Iterable[Entry],
    ) -> None:
        self.needed: dict[str, Any] = {}
        self._labels: dict[Any, str] = {}
        self._taken = {"s", "te", *keyword.kwlist}
        for op in declared:
            for tensor in op.outputs:
                self._need(tensor, tensor.name)
        ends = ", ".join([f"{self._labels[op.output(0)]}.op" for op in outputs])
        head = ["from te_sched import te", "", f"s = te.create_schedule([{ends}])"]
        self.calls = [self._line(entry) for entry in entries]
        self.text = "\n".join(head + self.calls)

    def _name(self, wish: str) -> str:
        base = re.sub(r"\W", "_", wish) or "x"
        base = base if not base[0].isdigit() else "_" + base
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def _define(self, item: Any, wish: str) -> str:
        self._labels[item] = name = self._name(wish)
        if isinstance(item, IterVar):
            self._labels[item.var] = f"{name}.var"
        return name

    def _need(self, item: Any, wish: str) -> str:
        if item not in self._labels:
            self.needed[self._define(item, wish)] = item
        return self._labels[item]

    def _line(self, entry: Entry) -> str:
        if entry.method == THREAD:
            call = self._thread(entry)
        elif entry.method in OWN_AXES:
            call = f"{self._value(entry.target)}.op.{entry.method}"
        else:
            owner = "s" if entry.target is None else self._value(entry.target)
            given = [self._value(arg) for arg in entry.args]
            given += [f"{name}={self._value(arg)}" for name, arg in entry.options.items()]
            call = f"{owner}.{entry.method}({', '.join(given)})"
        if not entry.results:
            return call
        wishes = [self._wish(item) for item in entry.results]
        named = [self._define(*pair) for pair in zip(entry.results, wishes, strict=True)]
        is_tuple = entry.method in OWN_AXES[:2] and len(named) == 1
        return f"{'(' if is_tuple else ''}{', '.join(named)}{',)' if is_tuple else ''} = {call}"

    @staticmethod
    def _wish(item: Any) -> str:
        if isinstance(item, IterVar):
            return item.var.name
        return item.name if isinstance(item, Tensor) else "group"

    def _thread(self, entry: Entry) -> str:
        dom, tag, name = entry.args
        given = [] if dom is None else [self._value(dom)]
        given.append(repr(tag) if given else f"tag={tag!r}")
        given += [f"name={name!r}"] if name != tag else []
        return f"te.thread_axis({', '.join(given)})"

    def _value(self, value: Any) -> str:
        if isinstance(value, StageOf):
            return f"s[{self._need(value.tensor, value.tensor.name)}]"
        if isinstance(value, list):
            return f"[{', '.join(map(self._value, value))}]"
        if isinstance(value, tuple):
            return f"({', '.join(map(self._value, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, TensorIntrin):
            return self._need(value, value.name)
        if isinstance(value, Expr):
            return self._expression(value)
        if inspect.isfunction(value):
            return self._need(value, "mapping")
        return self._need(value, self._wish(value)) if _is_object(value) else repr(value)

    def _expression(self, expr: Expr) -> str:
        kind = type(expr)
        if kind is Var:
            return self._need(expr, expr.name)  # type: ignore[attr-defined]
        if isinstance(expr, IntImm) and expr.dtype in ("int32", "bool"):
            return repr(bool(expr.value) if expr.dtype == "bool" else expr.value)
        if isinstance(expr, (IntImm, FloatImm)):
            return f"te.const({expr.value!r}, {expr.dtype!r})"
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
            return f"te.const({expr.value}, {expr.dtype!r})"  # Python would swap 0 == x
        text = self._expression(expr)
        return f"({text})" if type(expr) in _OPERATORS else text


def call_text(entry: Entry) -> str:
    """The line of one entry by itself."""
    return Listing((), (), [entry]).calls[0]


def _is_object(value: Any) -> bool:
    return hasattr(value, "op") or isinstance(value, (IterVar, Operation))

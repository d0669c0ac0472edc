"""Operators of Python on expressions of graphs: `x + y`, `-x`, `x[0]`, `f(x)`, `x.astype("int8")`.

Each is a call of the operator of `relax.op` with its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.ir.graph import (
    GraphCall,
    GraphExpr,
    TupleGetItem,
    as_expr,
)
from te_sched.ir.stmt import GlobalVar
from te_sched.ir.struct_info import TupleStructInfo
from te_sched.relax import op

_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "pow": "power",
    "mod": "mod",
}
_COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}


def _binary(name: str) -> Callable[[Any, Any], GraphCall]:
    def apply(self: Any, other: Any) -> GraphCall:
        found: GraphCall = getattr(op, name)(self, as_expr(other))
        return found

    apply.__doc__ = f"A call of `relax.op.{name}`."
    return apply


def _reflected(name: str) -> Callable[[Any, Any], GraphCall]:
    def apply(self: Any, other: Any) -> GraphCall:
        found: GraphCall = getattr(op, name)(as_expr(other), self)
        return found

    return apply


def _negative(self: Any) -> Any:
    return getattr(op, "negative")(self)  # noqa: B009


def _astype(self: Any, dtype: Any) -> Any:
    """The value with another dtype: a call of `relax.op.astype`."""
    return getattr(op, "astype")(self, dtype)  # noqa: B009


def _called(self: Any, *args: Any, attrs: Any = None) -> GraphCall:
    return GraphCall(self, tuple([as_expr(one) for one in args]), attrs)


def _item(self: Any, index: int) -> TupleGetItem:
    known = self.struct_info_
    if isinstance(known, TupleStructInfo):
        count = len(known.fields)
        if not -count <= index < count:  # which also ends an iteration over the values
            raise IndexError(f"index {index} of a tuple of {count} values")
        index %= count
    return TupleGetItem(self, index)


def install() -> None:
    """Give the operators to the classes of expressions."""
    for name, operator in _BINARY.items():
        setattr(GraphExpr, f"__{name}__", _binary(operator))
        setattr(GraphExpr, f"__r{name}__", _reflected(operator))
    for name, operator in _COMPARISONS.items():
        setattr(GraphExpr, f"__{name}__", _binary(operator))
    methods = {"__neg__": _negative, "astype": _astype, "__getitem__": _item}
    for name, method in methods.items():
        setattr(GraphExpr, name, method)
    for kind in (GraphExpr, GlobalVar):
        setattr(kind, "__call__", _called)  # noqa: B010  (for the type checker)


install()

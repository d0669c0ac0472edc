"""Floats as real numbers: what TVM's operators fold when an expression is written.

TVM's text shows x * 0 as 0 and x + 0 as x, for floats too. Expressions stay as they are written,
since x may be NaN, infinite or -0.0 when the program runs; text is made of what `as_reals` gives.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir.visitor import Mapper


def as_reals(node: Any) -> Any:
    """An expression, statement or function as TVM's operators would have built it."""
    return _Folder().visit(node)


class _Folder(Mapper):
    """Builds again what has an operand that became constant, and folds operations with zero."""


def _visit_operation(folder: _Folder, node: Any) -> Any:
    new = folder.generic(node)
    if new is not node:
        new = _OPERATORS[type(node)](new.a, new.b)
    if type(new) not in _ARITHMETIC or not dtypes.is_float(new.dtype):
        return new
    folded = ops.of_reals(type(new), new.a, new.b)
    return new if folded is None else folded


def _visit_cast(folder: _Folder, node: E.Cast) -> Any:
    new = folder.generic(node)
    return new if new is node else ops.cast(new.dtype, new.value)


def _quotient(a: E.Expr, b: E.Expr) -> E.Expr:
    is_refused = isinstance(b, E.FloatImm) and b.value == 0  # 0 only for those who fold y * 0
    return E.Div(a, b) if is_refused else ops.div(a, b)


_ARITHMETIC: dict[type, Any] = {
    E.Add: ops.add,
    E.Sub: ops.sub,
    E.Mul: ops.mul,
    E.Div: _quotient,
    E.Min: ops.minimum,
    E.Max: ops.maximum,
}
_OPERATORS: dict[type, Any] = {
    **_ARITHMETIC,
    E.EQ: ops.equal,
    E.NE: ops.not_equal,
    E.LT: ops.less,
    E.LE: ops.less_equal,
    E.GT: ops.greater,
    E.GE: ops.greater_equal,
    E.And: ops.logical_and,
    E.Or: ops.logical_or,
}
_Folder._methods = {
    **_Folder._methods,
    **dict.fromkeys(_OPERATORS, _visit_operation),
    E.Cast: _visit_cast,
}

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

    def operation(self, node: Any) -> Any:
        """An operation on two operands."""
        new = self.generic(node)
        if new is not node and type(node) in _BUILDERS:
            new = _BUILDERS[type(node)](new.a, new.b)
        if type(new) not in _ARITHMETIC or not dtypes.is_float(new.dtype):
            return new
        folded = ops.of_reals(type(new), new.a, new.b)
        return new if folded is None else folded

    visit_BinaryOp = visit_CompareOp = operation

    def visit_Cast(self, node: E.Cast) -> E.Expr:
        new = self.generic(node)
        return new if new is node else ops.cast(new.dtype, new.value)


def _quotient(a: E.Expr, b: E.Expr) -> E.Expr:
    is_refused = isinstance(b, E.FloatImm) and b.value == 0  # 0 only for those who fold y * 0
    return E.Div(a, b) if is_refused else ops.div(a, b)


_BUILDERS = {**ops.BUILDERS, E.Div: _quotient}
del _BUILDERS[E.FloorDiv], _BUILDERS[E.FloorMod]  # of integers, and refuse to be divided by 0
_ARITHMETIC = (E.Add, E.Sub, E.Mul, E.Div, E.Min, E.Max)

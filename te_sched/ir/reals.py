"""Folding of floats as real numbers, as TVM's operators do.

TVM's text shows x * 0 as 0 and x + 0 as x, for floats too. te_sched's operators do not fold them,
since x may be NaN, infinite or -0.0; the printed text is that of the result of `as_reals`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir.expr import Node
from te_sched.ir.visitor import Mapper

_N = TypeVar("_N", bound=Node)


def as_reals(node: _N) -> _N:
    """An expression, statement or function, folded as by TVM's operators."""
    return _Folder().visit(node)


class _Folder(Mapper):
    """Rebuilds operations with an operand that became constant, and folds operations with zero."""

    def operation(self, node: Any) -> Any:
        """Fold a binary operation."""
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


_BUILDERS = dict(ops.BUILDERS)
del _BUILDERS[E.FloorDiv], _BUILDERS[E.FloorMod]  # of integers, and refuse to be divided by 0
_ARITHMETIC = (E.Add, E.Sub, E.Mul, E.Div, E.Min, E.Max)

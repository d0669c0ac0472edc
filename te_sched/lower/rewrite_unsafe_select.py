"""Where evaluating the untaken side of a select may fail, evaluate the taken side only.

A select may evaluate both sides; a load out of bounds or a division by zero on the side that is not
taken must not happen. (TVM's name: RewriteUnsafeSelect.)
"""

from __future__ import annotations

from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.calls import is_pure
from te_sched.ir.expr import BufferLoad, Call, Expr, IntImm, Select
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import Mapper, children, replace
from te_sched.lower.statements import nodes_of

_DIVISIONS = (E.Div, E.Mod, E.FloorDiv, E.FloorMod)
_SELECTS = frozenset([Select])


def rewrite_unsafe_select(func: PrimFunc) -> PrimFunc:
    """The function with if_then_else in the place of selects that are unsafe."""
    if not nodes_of(func.body, _SELECTS):
        return func
    return replace(func, body=_Rewriter().visit(func.body))  # type: ignore[no-any-return]


class _Rewriter(Mapper):
    """Rewrites selects, the inner ones first."""

    def visit_Select(self, node: Select) -> Expr:
        select: Select = self.generic(node)
        if dtypes.lanes(select.condition.dtype) > 1:
            return select
        if not (_may_fail(select.true_value) or _may_fail(select.false_value)):
            return select
        sides = (select.condition, select.true_value, select.false_value)
        return Call(select.dtype, "tir.if_then_else", sides)


def _may_fail(value: Expr) -> bool:
    """Whether evaluating an expression whose condition does not hold may fail."""
    if isinstance(value, BufferLoad):
        return True
    if isinstance(value, _DIVISIONS) and not (isinstance(value.b, IntImm) and value.b.value != 0):
        return True
    if isinstance(value, Call):
        if value.op == "tir.if_then_else":
            return _may_fail(value.args[0])
        if not is_pure(value.op):
            return True
    return any(_may_fail(child) for child in children(value))  # type: ignore[arg-type]

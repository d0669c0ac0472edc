"""Evaluate only the selected value if the other one might fail (TVM's RewriteUnsafeSelect).

Before::

    select(i < n, A[i], 0)

After::

    if_then_else(i < n, A[i], 0)

A select may compute both values. That is wrong if one of them reads memory, possibly out of bounds,
or calls a function with an effect. Selects between lanes stay: lanes have no branches.
"""

from __future__ import annotations

from typing import Any

from te_sched.config import AS_TVM, Lowering
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.intrinsic_table import Effect, call_effect
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import Mapper, children, replace


def rewrite_unsafe_select(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """Evaluate only the value that is needed where the other might fail."""
    return replace(func, body=_SelectRewriter().visit(func.body))


class _SelectRewriter(Mapper):
    """Rewrites from the inside outwards."""

    def visit_Select(self, node: E.Select) -> Any:
        new: E.Select = self.generic(node)
        is_vector = dtypes.lanes(new.condition.dtype) > 1
        if is_vector or not (_is_unsafe(new.true_value) or _is_unsafe(new.false_value)):
            return new
        values = new.true_value, new.false_value
        return E.Call(new.dtype, "tir.if_then_else", (new.condition, *values))


def _is_unsafe(node: Any) -> bool:
    """Whether evaluating an expression that is not selected may fail."""
    kind = type(node)
    if kind is E.BufferLoad or kind is E.ProducerLoad:
        return True
    if kind is E.Call:
        if node.op == "tir.if_then_else":
            return _is_unsafe(node.args[0])
        if node.op == "tir.address_of":
            return any(map(_is_unsafe, children(node.args[0])))
        if call_effect(node.op) > Effect.PURE:
            return True
    return any(map(_is_unsafe, children(node)))

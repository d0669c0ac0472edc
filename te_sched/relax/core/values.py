"""Questions about values of a graph that many passes ask. Must not know operators."""

from __future__ import annotations

from typing import TypeGuard

from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall, GraphValue
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax.core.sizes import sizes_of


def is_call_of(value: object, *names: str) -> TypeGuard[GraphCall]:
    """Whether a value is a call of one of these operators.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> is_call_of(relax.op.add(x, x), "relax.add", "relax.subtract"), is_call_of(x, "relax.add")
    (True, False)
    """
    return isinstance(value, GraphCall) and str(value.op) in names


def tensor_info(value: GraphValue) -> TensorStructInfo:
    """What is known of a value that is a tensor, as its operator demands."""
    info = value.struct_info
    assert isinstance(info, TensorStructInfo)
    return info


def shape_of_value(value: GraphValue) -> tuple[Expr, ...] | None:
    """The sizes of a value, if they are known."""
    return sizes_of(value.struct_info)

"""Arithmetic and comparisons of two arrays, element by element, with broadcasting."""

from __future__ import annotations

from typing import Any

from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo
from te_sched.relax.op.common import broadcast_sizes, common_dtype, shape_of, tensors_of
from te_sched.relax.operators import make_call, register_operator


def add(x1: Any, x2: Any) -> GraphCall:
    """x1 + x2"""
    return make_call("relax.add", [x1, x2])


@register_operator("relax.add")
def _infer_arithmetic(call: GraphCall, builder: Any) -> StructInfo:
    a, b = infos = tensors_of(call, 2)
    dtype = common_dtype(call, infos)
    sizes = (shape_of(a), shape_of(b))
    if sizes[0] is not None and sizes[1] is not None:
        found = broadcast_sizes(call, builder, *sizes)
        if found is not None:
            return TensorStructInfo(ShapeExpr(found), dtype)
    known = -1 in (a.ndim, b.ndim)
    return TensorStructInfo(None, dtype, None, -1 if known else max(a.ndim, b.ndim))
